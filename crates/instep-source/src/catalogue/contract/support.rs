//! A place for catalogues, and the values that the tests keep there.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use resourcesync::{Algorithm, DateTime, Digests, Hasher, Uri};

use crate::catalogue::{Catalogue, CatalogueLocation, ChangeRecord, Observation, Resource, Snapshot};

/// A place for the catalogue of one Source.
pub(super) struct ContractPlace {
    pub(super) at: CatalogueLocation,
    /// Goes with this value.
    pub(super) folder: tempfile::TempDir,
    clock: Arc<AtomicI64>,
}

/// The time at which the clocks of the tests begin.
pub(super) const START: i64 = 1_700_000_000_000_000;

impl ContractPlace {
    pub(super) fn file() -> Self {
        Self::of(None)
    }

    #[cfg(feature = "postgres")]
    pub(super) fn at(url: &str) -> Self {
        Self::of(Some(url))
    }

    fn of(url: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = CatalogueLocation::of(folder.path(), url, &["http://x/"]).unwrap();
        Self { at, folder, clock: Arc::new(AtomicI64::new(START)) }
    }

    /// Opens the catalogue with a clock that advances by a microsecond with each reading.
    pub(super) fn open(&self) -> Catalogue {
        let clock = Arc::clone(&self.clock);
        let clock = Arc::new(move || clock.fetch_add(1, Ordering::SeqCst));
        self.at.open(self.folder.path(), clock).unwrap()
    }

    /// Opens a catalogue whose first set has its baseline.
    pub(super) fn open_baselined(&self) -> Catalogue {
        let catalogue = self.open();
        catalogue.complete_baseline(1).unwrap();
        catalogue
    }

    pub(super) fn set_clock(&self, micros: i64) {
        self.clock.store(micros, Ordering::SeqCst);
    }
}

pub(super) fn uri(name: &str) -> Uri {
    Uri::parse(&format!("http://x/{name}")).unwrap()
}

/// Returns a file of the first root.
pub(super) fn resource(name: &str) -> Resource {
    let escaped = name.replace('%', "%25");
    Resource::new([b"\x01", name.as_bytes()].concat(), uri(&escaped))
}

pub(super) fn digests(bytes: &str) -> Digests {
    let mut hasher = Hasher::new(&[Algorithm::Sha256]);
    hasher.update(bytes.as_bytes());
    hasher.finish()
}

/// Returns a file with bytes.
pub(super) fn file(name: &str, bytes: &str) -> Resource {
    let mut resource = resource(name);
    resource.state.length = Some(bytes.len() as u64);
    resource.state.digests = digests(bytes);
    resource
}

pub(super) fn gone(name: &str) -> Observation {
    Observation::Gone { key: resource(name).key }
}

pub(super) fn at(micros: i64) -> DateTime {
    DateTime::from_unix_micros(START + micros)
}

pub(super) fn changes(snapshot: &Snapshot) -> Vec<ChangeRecord> {
    snapshot.changes(u64::MAX, 0).map(Result::unwrap).collect()
}

/// Returns the kinds and names of all changes.
pub(super) fn log(snapshot: &Snapshot) -> Vec<String> {
    let line = |change: ChangeRecord| {
        format!("{} {}", change.change.as_str(), change.uri.as_str().trim_start_matches("http://x/"))
    };
    changes(snapshot).into_iter().map(line).collect()
}
