//! A list of resources that a database or a program writes: CSV with a header line, or JSON Lines.

mod faults;
mod input;
mod line;
mod listing;
mod names;

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use super::filter::Filter;
use crate::render::{DOCUMENTS, ROBOTS, SOURCE_DESCRIPTION};
pub(crate) use input::leave_standard_input;
pub(crate) use line::Listed;
pub(crate) use listing::Listing;

/// Returns one resource in the JSON form of a line, without a file: an application's report must not name one.
pub(crate) fn listed(json: serde_json::Value) -> Result<Listed, String> {
    // A misspelt `change` would publish a deletion as an update.
    let known = json.as_object().into_iter().flat_map(serde_json::Map::keys).map(String::as_str);
    if let Some(misspelt) = names::misspelt(known) {
        return Err(misspelt);
    }
    if let Some(wrong) = line::wrong_type(&json) {
        return Err(wrong);
    }
    let line: line::ManifestLine = serde_json::from_value(json).map_err(|error| error.to_string())?;
    Ok(Listed { file: None, ..line.listed(Path::new(""))? })
}

/// A manifest and the sets that take resources from it.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) number: u8,
    pub(super) path: PathBuf,
    /// The file that is read in its place.
    draft: Option<PathBuf>,
    folder: PathBuf,
    base: String,
    sets: Vec<(u8, Filter)>,
    /// A base URL in its lines, and the one that is read in its place: that of the catalogue, for the preview of a move.
    recorded_below: Option<(String, String)>,
    /// `true` once standard input was read for a scan: it can be read once only.
    taken: AtomicBool,
}

impl Manifest {
    pub(super) fn new(path: &Path, folder: &Path, base: &str, set: u8, filter: Filter) -> Self {
        Self {
            number: 0,
            path: path.to_owned(),
            draft: None,
            folder: folder.to_owned(),
            base: base.to_owned(),
            sets: vec![(set, filter)],
            recorded_below: None,
            taken: AtomicBool::new(false),
        }
    }

    /// Adds a set that takes resources from this manifest.
    pub(super) fn add_set(&mut self, set: u8, filter: Filter) {
        self.sets.push((set, filter));
    }

    /// Returns the path by which the options name it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads another file in its place.
    pub(super) fn read_draft(&mut self, draft: &Path) {
        self.draft = Some(draft.to_owned());
    }

    /// Reads each URI below one base URL as the same one below another.
    pub(super) fn read_below(&mut self, written: &str, recorded: &str) {
        self.recorded_below = Some((written.to_owned(), recorded.to_owned()));
    }

    /// Returns the base URL of the Source.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The beginning of each name.
    pub(super) const NAME: &str = "manifest:";

    /// Returns the name under which the catalogue keeps its number: it does not depend on the current folder.
    pub(super) fn name(&self) -> String {
        let path = std::path::absolute(&self.path).ok().filter(|_| !self.is_standard_input());
        format!("{}{}", Self::NAME, path.as_deref().unwrap_or(&self.path).display())
    }

    /// Returns `true` if it comes from standard input, which can be read once only.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Returns the key of a resource that it names.
    pub(crate) fn key(&self, uri: &str) -> Vec<u8> {
        [&[self.number], uri.as_bytes()].concat()
    }

    /// Returns `true` if a URI is that of a document of the Source, which no resource can have too. `robots.txt` is one at
    /// the root of a host only.
    pub(crate) fn is_of_documents(&self, uri: &str) -> bool {
        let Some(path) = uri.strip_prefix(&self.base) else { return false };
        let is_of_host = self.base.matches('/').count() == 3;
        path.split('/').next() == Some(DOCUMENTS)
            || path == SOURCE_DESCRIPTION
            || is_of_host && path == ROBOTS
    }

    /// Returns the sets that a resource belongs to: globs are compared with its path below the base URL, or otherwise with
    /// its complete URI.
    fn sets_of(&self, uri: &str) -> u64 {
        let path = uri.strip_prefix(&self.base).unwrap_or(uri);
        let takes = |(_, filter): &&(u8, Filter)| filter.takes(path.as_bytes());
        self.sets.iter().filter(takes).fold(0, |mask, (set, _)| mask | 1 << set)
    }
}
