//! The folder of documents while a sink is at work in it, with the folder in which documents are staged.

use std::{fs::Permissions, io, os::unix::fs::PermissionsExt, path::Path};

use instep_store::{NameKind, Obstacle, RootFolder, Staging};

/// Documents are staged below this folder, beside those in place, so that a rename does not cross file systems.
const STAGE: &str = "resourcesync/.stage";

/// The purposes of sinks, each with its own staging.
const PURPOSES: [&str; 4] = ["lists", "dumps", "patches", "copies"];

/// Everybody may enter the folders of the documents, with any umask of the process: a web server usually runs as
/// another user (C18).
const ENTERABLE: u32 = 0o755;

/// A folder of documents, and the staging of one purpose in it.
#[derive(Debug)]
pub(super) struct OpenFolder {
    pub(super) root: RootFolder,
    pub(super) staging: Staging,
    stage: String,
}

impl OpenFolder {
    /// Opens the folder and an empty staging in it.
    pub(super) fn open(documents: &Path, purpose: &str) -> io::Result<Self> {
        let root = RootFolder::open_or_make(documents)?;
        // Staging is separate and only for this process, because others read the documents.
        let parent = split(STAGE).0;
        let mut is_new = false;
        root.make_folder(parent, 0o777, &mut |_| is_new = true)?;
        if is_new {
            let_everybody_in(&root, parent)?;
        }
        let stage = stage_folder(purpose);
        let staging = Staging::open(&root, &stage)?;
        staging.clear(|_| false)?;
        Ok(Self { root, staging, stage })
    }

    /// Opens the files that a process left staged; `None` if there are none.
    fn left(documents: &Path, purpose: &str) -> Option<Self> {
        let (root, stage) = (RootFolder::open(documents).ok()?, stage_folder(purpose));
        let is_folder = |name: &str| matches!(root.kind(name), Ok(Some(NameKind::Folder)));
        // Asked first, since opening a staging makes its folder.
        if !is_folder(STAGE) || !is_folder(&stage) {
            return None;
        }
        let staging = Staging::open(&root, &stage).ok()?;
        Some(Self { root, staging, stage })
    }

    /// Makes a folder below it that everybody may enter; `made` gets the name of each one that was not there.
    pub(super) fn make_folder(&self, folder: &str, made: &mut Vec<String>) -> io::Result<()> {
        self.root.make_folder(folder, 0o777, &mut |new| made.push(new.to_owned()))?;
        made.iter().try_for_each(|new| let_everybody_in(&self.root, new))
    }

    /// Empties the staging and removes its folder. A file that cannot be removed costs only space, until the next
    /// publication.
    pub(super) fn discard(&self) {
        let emptied = self.staging.clear(|_| false).and_then(|()| self.root.remove_empty_folder(&self.stage));
        if emptied.unwrap_or(false) {
            let _ = self.root.remove_empty_folder(STAGE);
        }
    }
}

/// Removes files that killed processes left staged below a folder of documents.
pub(crate) fn discard_leftovers(documents: &Path) {
    for purpose in PURPOSES {
        if let Some(left) = OpenFolder::left(documents, purpose) {
            left.discard();
        }
    }
}

/// Returns the length of a document in a folder; `None` if it is certainly not there, or another program's in its place.
/// Any other fault may hide one that is there: a package that counts as missing would leave its dump for good.
pub(super) fn length_of(documents: &Path, name: &str) -> io::Result<Option<u64>> {
    match RootFolder::open(documents).and_then(|root| root.file(name)) {
        Ok(file) => Ok(Some(file.limit())),
        Err(fault)
            if matches!(fault.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
                || Obstacle::of(&fault).is_some() =>
        {
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// Returns the folder in which the sinks of a purpose stage.
pub(super) fn stage_folder(purpose: &str) -> String {
    format!("{STAGE}/{purpose}")
}

fn let_everybody_in(root: &RootFolder, folder: &str) -> io::Result<()> {
    root.entry(folder)?.set_permissions(Permissions::from_mode(ENTERABLE))
}

/// Splits a name into its folder and its last part.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}
