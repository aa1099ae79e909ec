//! A folder that is changed and scanned, and a naive model of the expected catalogue.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::SystemTime,
};

use crate::{
    Content, PublishOptions, RecordingMonitor, SetOptions,
    catalogue::{Catalogue, ChangeRecord, Resource},
    content::{Holdings, StateSpool},
    scan::{ScanOptions, ScanReport, scan, scan_paths},
};
use resourcesync::{Algorithm, Digest, Hasher};
use tempfile::TempDir;

const BASE: &str = "http://x/";

pub(crate) struct Folder {
    root: TempDir,
    state: TempDir,
    publish: PublishOptions,
    clock: Arc<AtomicI64>,
    pub(crate) options: ScanOptions,
    pub(crate) catalogue: Catalogue,
    pub(crate) holdings: Holdings,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut publish = PublishOptions::new(root.path(), BASE);
        publish.state = state.path().to_owned();
        let clock = Arc::new(AtomicI64::new(1_700_000_000_000_000));
        let catalogue = open(state.path(), &clock);
        let holdings = Holdings::new(&publish, &catalogue).unwrap();
        let mut options = ScanOptions::new(&publish);
        // These tests are about what is recorded; tests/guard.rs is about what is refused.
        options.guard = None;
        Self { root, state, publish, clock, options, catalogue, holdings }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    pub(crate) fn set_modified(&self, name: &str, time: SystemTime) {
        fs::File::options().write(true).open(self.path(name)).unwrap().set_modified(time).unwrap();
    }

    pub(crate) fn scan(&self) -> ScanReport {
        scan(&self.holdings, &self.catalogue, &self.options, &RecordingMonitor::new()).unwrap()
    }

    pub(crate) fn scan_paths(&self, names: &[&str]) -> ScanReport {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        scan_paths(&self.holdings, &self.catalogue, &paths, &self.options, &RecordingMonitor::new()).unwrap()
    }

    pub(crate) fn step_clock(&self, micros: i64) {
        self.clock.fetch_add(micros, Ordering::SeqCst);
    }

    /// As after the end of the process.
    pub(crate) fn reopen(&mut self) {
        self.catalogue = open(self.state.path(), &self.clock);
        self.reconfigure();
    }

    pub(crate) fn keep_states(&mut self) -> StateSpool {
        self.publish.keep_states = true;
        let spool = StateSpool::of(&self.publish).unwrap();
        self.options.spool = Some(spool.clone());
        spool
    }

    pub(crate) fn add_set(&mut self, include: &[&str]) {
        let mut set = SetOptions::folder(self.root.path());
        set.include = include.iter().map(|&glob| glob.to_owned()).collect();
        self.publish.sets.push(set);
        self.reconfigure();
    }

    pub(crate) fn replace_sets(&mut self, includes: &[&[&str]]) {
        self.publish.sets.clear();
        includes.iter().for_each(|include| self.add_set(include));
    }

    pub(crate) fn add_content(&mut self, content: Content) {
        self.publish.sets[0].content.push(content);
        self.reconfigure();
    }

    pub(crate) fn remove_content(&mut self) {
        self.publish.sets[0].content.pop();
        self.reconfigure();
    }

    fn reconfigure(&mut self) {
        self.holdings = Holdings::new(&self.publish, &self.catalogue).unwrap();
        self.options.sets = ScanOptions::new(&self.publish).sets;
    }

    pub(crate) fn resources(&self) -> Vec<Resource> {
        let snapshot = self.catalogue.snapshot().unwrap();
        snapshot.resources(u64::MAX).collect::<Result<_, _>>().unwrap()
    }

    /// Returns the URIs below the base URL.
    pub(crate) fn uris(&self) -> Vec<String> {
        self.resources().iter().map(|resource| resource.uri.as_str()[BASE.len()..].to_owned()).collect()
    }

    pub(crate) fn changes(&self) -> Vec<ChangeRecord> {
        let snapshot = self.catalogue.snapshot().unwrap();
        snapshot.changes(u64::MAX, 0).collect::<Result<_, _>>().unwrap()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log_of(u64::MAX)
    }

    pub(crate) fn log_of(&self, sets: u64) -> Vec<String> {
        let snapshot = self.catalogue.snapshot().unwrap();
        let line = |change: ChangeRecord| format!("{} {}", change.change, &change.uri.as_str()[BASE.len()..]);
        snapshot.changes(sets, 0).map(|change| line(change.unwrap())).collect()
    }

    /// Returns the files as they are on disk: their sha-256 by path.
    pub(crate) fn on_disk(&self) -> BTreeMap<String, Digest> {
        let mut files = BTreeMap::new();
        collect(self.root.path(), self.root.path(), &mut files);
        files
    }

    /// Returns the digests by URI that are known.
    pub(crate) fn known(&self) -> BTreeMap<String, String> {
        let known = self.resources().into_iter();
        known.map(|it| (it.uri.as_str().to_owned(), it.state.digests.to_string())).collect()
    }

    /// The changes applied to what was known before them give what is known now; each fits the state before it, and
    /// none says nothing.
    pub(crate) fn replay(&self, mut state: BTreeMap<String, String>) {
        let mut last = None;
        for (sequence, change) in (1..).zip(self.changes()) {
            assert_eq!(change.sequence, sequence);
            assert!(last.is_none_or(|last| last < change.datetime));
            last = Some(change.datetime);
            let uri = change.uri.as_str().to_owned();
            let digests = change.state.digests.to_string();
            match change.change.as_str() {
                "created" => assert_eq!(state.insert(uri, digests), None),
                "updated" => assert!(state.insert(uri, digests.clone()).is_some_and(|it| it != digests)),
                _ => assert!(state.remove(&uri).is_some()),
            }
        }
        assert_eq!(state, self.known());
    }

    /// Checks that the catalogue has what is on disk, and that the totals count it.
    pub(crate) fn check(&self) {
        let known = self.resources().into_iter().map(|resource| {
            let path = String::from_utf8(resource.key[1..].to_vec()).unwrap();
            (path, resource.state.digests.get(&Algorithm::Sha256).unwrap().clone())
        });
        let on_disk = self.on_disk();
        assert_eq!(known.collect::<BTreeMap<_, _>>(), on_disk);
        let totals = self.catalogue.snapshot().unwrap().totals(0).unwrap();
        assert_eq!(totals.resources, on_disk.len() as u64);
    }
}

fn open(state: &Path, clock: &Arc<AtomicI64>) -> Catalogue {
    let clock = Arc::clone(clock);
    Catalogue::with_clock(&state.join("catalogue.db"), Arc::new(move || clock.load(Ordering::SeqCst)))
        .unwrap()
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Digest>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
            continue;
        }
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        hasher.update(&fs::read(&path).unwrap());
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        files.insert(name, hasher.finish().get(&Algorithm::Sha256).unwrap().clone());
    }
}
