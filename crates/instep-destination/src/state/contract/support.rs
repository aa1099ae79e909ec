//! A place for states, and the values that the tests keep there.

use resourcesync::{Algorithm, DateTime, Hasher, Link, MediaType, Relation, Uri};

use crate::{
    map::CopyPath,
    state::{CopyState, HeldAt, Ledger, Operation, ResourceMetadata, SetId, StatePlace},
};

/// A test with its name.
#[cfg(feature = "postgres")]
pub(super) type NamedTest = (&'static str, fn(&TestPlace));

/// A place for the state of one copy.
pub(super) struct TestPlace {
    pub(super) at: StatePlace,
    /// The folder of the place, which is removed with this value.
    pub(super) folder: tempfile::TempDir,
}

impl TestPlace {
    pub(super) fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { at: StatePlace::File(folder.path().join("state.sqlite")), folder }
    }

    #[cfg(feature = "postgres")]
    pub(super) fn at(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { at: StatePlace::of(folder.path(), Some(url)).unwrap(), folder }
    }

    pub(super) fn open(&self) -> Box<dyn CopyState> {
        self.at.open(self.folder.path()).unwrap()
    }
}

pub(super) fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

pub(super) fn path(text: &str) -> CopyPath {
    CopyPath::from_state(text).unwrap()
}

/// Returns a time with the precision that the state keeps.
pub(super) fn at(seconds: i64) -> DateTime {
    DateTime::from_unix_micros(seconds * 1_000_000)
}

/// Returns metadata of some bytes, with a value in each field.
pub(super) fn known_of(bytes: &[u8]) -> ResourceMetadata {
    let mut hasher = Hasher::new(&[Algorithm::Md5, Algorithm::Sha256]);
    hasher.update(bytes);
    let mut metadata = ResourceMetadata::new();
    metadata.length = Some(bytes.len() as u64);
    metadata.digests = hasher.finish();
    metadata.lastmod = DateTime::parse("2013-01").ok();
    metadata.datetime = DateTime::parse("2013-01-03T09:00:00.25+01:00").ok();
    metadata.etag = Some("W/\"é'\\\"".into());
    metadata.media_type = Some(MediaType::new("text/plain"));
    metadata.links = vec![Link::new(Relation::Via, uri("http://o/x"))];
    metadata
}

/// Returns the operation that gives a file the path of its name.
pub(super) fn place(name: &str, set: SetId, replaces: bool) -> Operation {
    Operation::Place {
        uri: uri(&format!("http://h/{name}")),
        path: path(name),
        key: None,
        staged: 0,
        sets: set.mask(),
        metadata: ResourceMetadata { length: Some(1), ..ResourceMetadata::new() },
        replaces,
        place: HeldAt::Path,
    }
}

pub(super) fn remove(name: &str) -> Operation {
    Operation::Remove { uri: uri(&format!("http://h/{name}")), path: path(name), staged: 0 }
}

/// Commits operations without an intent.
pub(super) fn commit(state: &mut dyn CopyState, operations: &[Operation]) {
    state.commit_group(None, &[operations], &Ledger::default()).unwrap();
}

/// Commits what is recorded with a group that has no operation.
pub(super) fn record(state: &mut dyn CopyState, ledger: &Ledger) {
    state.commit_group(None, &[], ledger).unwrap();
}

/// Returns the names of all held resources, in the order of the state.
pub(super) fn names(state: &dyn CopyState) -> Vec<String> {
    let held = state.held_after(None, usize::MAX >> 1).unwrap();
    held.iter().map(|held| held.uri.as_str().replace("http://h/", "")).collect()
}
