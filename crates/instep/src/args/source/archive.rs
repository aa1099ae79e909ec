//! A web archive as the content of a Source: it is unpacked first, and its manifest is published.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use instep_destination::Contents;
use instep_source::{Content, PublishOptions};
use tempfile::TempDir;

use super::SourceArgs;
use crate::{
    exit::Exit,
    listener::RunningServer,
    web_archive::{Unpacked, is_web_archive, manifest_in, unpack},
};

/// A web archive in a temporary folder, which is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct ArchiveDraft {
    /// The manifest in the temporary folder.
    unpacked: PathBuf,
    /// The manifest that a publication would write.
    usual: PathBuf,
    _scratch: TempDir,
}

impl ArchiveDraft {
    /// Gives the manifest its usual name, by which the catalogue knows its resources, and has the unpacked one read in its
    /// place.
    pub(crate) fn apply(&self, options: &mut PublishOptions) {
        for content in options.sets.iter_mut().flat_map(|set| &mut set.content) {
            if let Content::Manifest { path, .. } = content
                && *path == self.unpacked
            {
                path.clone_from(&self.usual);
            }
        }
        options.manifest_drafts.insert(self.usual.clone(), self.unpacked.clone());
    }
}

impl SourceArgs {
    /// Unpacks the web archive that `--from` names into the state, and uses the manifest instead; `None` if it names none.
    ///
    /// Errors: the archive cannot be read, or has no resource below the base URL.
    pub(crate) fn unpack(&mut self, folder: &Path, base_url: &str) -> anyhow::Result<Option<Unpacked>> {
        let Some(archive) = self.archive(folder) else { return Ok(None) };
        let state = self.state(folder);
        self.unpack_into(&archive, base_url, &state).map(Some)
    }

    /// Refuses to unpack a web archive over that of a server which runs: its resources would be replaced or removed.
    ///
    /// Errors: `--from` names a web archive, and a server publishes with the state.
    pub(crate) fn refuse_served_archive(&self, folder: &Path) -> anyhow::Result<()> {
        let state = self.state(folder);
        if self.archive(folder).is_some() && RunningServer::find(&state)?.is_some() {
            let what = format!("A running server publishes with the state {}; end it first", state.display());
            return Err(anyhow::Error::new(Exit::Locked).context(what));
        }
        Ok(())
    }

    /// Unpacks as [`Self::unpack`] does, but into a temporary folder: a dry run writes nothing into the state (P5).
    ///
    /// Errors: the archive cannot be read, or has no resource below the base URL.
    pub(crate) fn unpack_for_show(
        &mut self,
        folder: &Path,
        base_url: &str,
    ) -> anyhow::Result<Option<(Unpacked, ArchiveDraft)>> {
        let Some(archive) = self.archive(folder) else { return Ok(None) };
        let scratch = tempfile::tempdir().context("Cannot make a temporary folder")?;
        let usual = manifest_in(&self.state(folder))?;
        let unpacked = self.unpack_into(&archive, base_url, scratch.path())?;
        let draft = ArchiveDraft { unpacked: unpacked.manifest.clone(), usual, _scratch: scratch };
        Ok(Some((unpacked, draft)))
    }

    fn archive(&self, folder: &Path) -> Option<PathBuf> {
        let from = self.from.as_ref()?;
        let mut places = [from.clone(), folder.join(from)].into_iter();
        places.find(|place| is_web_archive(place) && !Contents::are_at(place))
    }

    fn unpack_into(&mut self, archive: &Path, base_url: &str, state: &Path) -> anyhow::Result<Unpacked> {
        if base_url.is_empty() {
            bail!(
                "The resources of {} have URIs of their own; give their beginning as --base-url",
                archive.display()
            );
        }
        let unpacked = unpack(archive, base_url, state)?;
        self.from = Some(unpacked.manifest.clone());
        Ok(unpacked)
    }
}
