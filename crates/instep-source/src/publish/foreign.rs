//! Files of the operator at the names of documents: never overwritten without consent, and never hidden silently
//! (C15).

use std::{io, path::Path};

use instep_store::RootFolder;
use rustix::fs::Dir;

use super::{context::SourceContext, published};
use crate::{
    Error, PublishMonitor, PublishProblem,
    content::Root,
    error::listed,
    records::PublishedSource,
    render::{DOCUMENTS, ROBOTS, SOURCE_DESCRIPTION},
};

/// Refuses to replace files that an earlier publication did not write. Our lines are added to `robots.txt`, so it
/// stays.
pub(super) fn refuse_overwriting<'a>(
    out: &Path,
    staged: impl Iterator<Item = &'a str>,
    published: &PublishedSource,
) -> Result<(), Error> {
    let root = match RootFolder::open(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(Error::read(out))?,
    };
    let mut names = Vec::new();
    for name in staged.filter(|name| !is_ours(name, published)) {
        let there = match root.kind(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            kind => kind.map_err(Error::read(out.join(name)))?,
        };
        names.extend(there.map(|_| name.to_owned()));
    }
    if names.is_empty() { Ok(()) } else { Err(Error::DocumentsInTheWay { folder: out.to_owned(), names }) }
}

/// Returns `true` if an earlier publication wrote a document. A catalogue that was restored from a backup does not know
/// the lists that were written since, but only a Source gives files such numbers.
fn is_ours(name: &str, published: &PublishedSource) -> bool {
    let document = name.strip_suffix(".gz").unwrap_or(name);
    // The name of a set, which is that of a folder, may have any numbers.
    let last = name.rsplit('/').next().unwrap_or(name);
    let is_numbered =
        last.split('-').skip(1).any(|part| part.starts_with(|first: char| first.is_ascii_digit()));
    name == ROBOTS
        || published.documents.contains_key(document)
        || published.retired.contains_key(document)
        || is_numbered && !published.written_for.is_empty()
}

impl SourceContext {
    /// Warns of files among the resources that are not published, because their names are those of documents. If the
    /// documents lie among the resources, such files are known by being there before the first publication;
    /// [`refuse_overwriting`] guards those that later documents would replace.
    pub(super) fn report_hidden(&self, monitor: &dyn PublishMonitor) -> Result<(), Error> {
        let published = published::load(&self.catalogue.snapshot()?)?.published;
        let is_first = published.written_for.is_empty();
        for root in self.roots_at_base().filter(|root| is_first || !self.has_documents(root)) {
            let mut hidden = Vec::new();
            let merges_robots =
                self.place().is_host_root() && (self.keeps_documents_in_state() || self.has_documents(root));
            if !merges_robots && root.handle().kind(ROBOTS).is_ok_and(|kind| kind.is_some()) {
                hidden.push(ROBOTS.to_owned());
            }
            // A server answers for all of `.well-known`; elsewhere it is not meant as content.
            let well_known = SOURCE_DESCRIPTION.split_once('/').map(|(folder, _)| folder);
            let well_known = well_known.filter(|_| self.keeps_documents_in_state());
            for folder in [DOCUMENTS].into_iter().chain(well_known) {
                let names = names_in(root, folder).map_err(Error::read(root.folder().join(folder)))?;
                let names = names.into_iter().map(|name| format!("{folder}/{name}"));
                hidden.extend(names.filter(|name| !published.documents.contains_key(name)));
            }
            if !hidden.is_empty() {
                let what = format!(
                    "has files that are not published, because their names belong to the documents of this Source: {}; \
                     move them to other names, or remove them if an earlier publication wrote them",
                    listed(&hidden)
                );
                monitor.problem(&PublishProblem::warning(root.folder().display().to_string(), what));
            }
        }
        Ok(())
    }
}

impl SourceContext {
    /// Returns the operator's robots.txt among the resources, for documents that have their own folder; `None` if
    /// there is none, or if the one beside the documents may also be the operator's.
    pub(super) fn operators_robots(&self) -> Result<Option<Vec<u8>>, Error> {
        if !self.keeps_documents_in_state() {
            return Ok(None);
        }
        for root in self.roots_at_base().filter(|root| !self.has_documents(root)) {
            let read = root.handle().file(ROBOTS).and_then(|mut file| {
                let mut bytes = Vec::new();
                io::Read::read_to_end(&mut file, &mut bytes).map(|_| bytes)
            });
            match read {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::read(root.folder().join(ROBOTS))(error)),
            }
        }
        Ok(None)
    }

    fn keeps_documents_in_state(&self) -> bool {
        self.options.out.starts_with(&self.options.state)
    }

    /// Returns the folders that are served at the base URL.
    fn roots_at_base(&self) -> impl Iterator<Item = &Root> {
        let base = self.place().base();
        self.holdings
            .roots()
            .iter()
            .filter(move |root| root.supply.is_none() && root.uri(b"").as_str() == base)
    }

    /// Returns `true` for the folder in which the documents lie, too.
    fn has_documents(&self, root: &Root) -> bool {
        root.folder() == self.out().canonicalize().unwrap_or_else(|_| self.out().to_owned())
    }
}

fn names_in(root: &Root, folder: &str) -> io::Result<Vec<String>> {
    let opened = match root.handle().folder(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        opened => opened?,
    };
    let mut names = Vec::new();
    for entry in Dir::read_from(opened)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !matches!(name.as_str(), "." | ".." | ".stage") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn c15_nothing_is_written_into_a_folder_that_cannot_be_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let looked = |name: &str| {
            let names = ["resourcesync/resourcelist.xml"].into_iter();
            refuse_overwriting(&folder.path().join(name), names, &PublishedSource::default())
        };
        symlink("loop", folder.path().join("loop")).unwrap();
        assert!(matches!(looked("loop"), Err(Error::Read { .. })));
        assert!(looked("absent").is_ok());
    }

    #[test]
    fn o820_a_document_is_known_by_the_number_in_its_own_name_alone() {
        let published = PublishedSource { written_for: "http://x/ V1_1".to_owned(), ..Default::default() };
        for (name, is_known) in [
            ("resourcesync/a/changelist-000002.xml", true),
            ("resourcesync/a-2026/changelist-000002.xml.gz", true),
            ("resourcesync/a-2026/changelist.xml", false),
            ("resourcesync/a/changelist.xml", false),
        ] {
            assert_eq!(is_ours(name, &published), is_known, "{name}");
        }
    }
}
