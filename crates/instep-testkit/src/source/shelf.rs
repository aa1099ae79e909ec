//! The content of a `FakeSource`: resources, changes, and the form of their documents.

use std::collections::BTreeMap;

use resourcesync::{Algorithm, Change, DateTime, Entry, Hasher, MediaType, Uri};

use crate::TestClock;

/// The capabilities that a [`super::FakeSource`] offers, and their form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Layout {
    /// A Resource List.
    pub resource_list: bool,
    /// The Resource List as an index over lists of this many entries.
    pub part_entries: Option<usize>,
    /// A Change List; without one each change renews the Resource List.
    pub change_list: bool,
    /// The Change List as an index over intervals.
    pub change_index: bool,
    /// A Resource Dump of one package.
    pub dump: bool,
    /// A Change Dump with a package for each closed interval.
    pub change_dump: bool,
    /// The Change Dump as an index over one of each interval.
    pub change_dump_index: bool,
    /// An endpoint that packs the complete snapshot for every request.
    pub batch: bool,
    /// A copy of its manifest beside each package.
    pub contents: bool,
    /// The digests stated.
    pub algorithms: Vec<Algorithm>,
    /// `lastmod` stated.
    pub lastmod: bool,
    /// `length` stated.
    pub length: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            resource_list: true,
            part_entries: None,
            change_list: true,
            change_index: true,
            dump: false,
            change_dump: false,
            change_dump_index: false,
            batch: false,
            contents: true,
            algorithms: vec![Algorithm::Md5, Algorithm::Sha256],
            lastmod: true,
            length: true,
        }
    }
}

impl Layout {
    /// Returns everything but dumps: a Resource List and a Change List Index.
    pub fn new() -> Self {
        Self::default()
    }
}

/// A change to an entry before it is published.
type Edit = Box<dyn Fn(&mut Entry) + Send>;

/// One resource's bytes and time.
#[derive(Clone, Debug)]
pub(super) struct ServedResource {
    pub(super) bytes: Vec<u8>,
    pub(super) modified: DateTime,
}

/// The changes of one interval; open while it has no `until`.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) number: usize,
    pub(super) from: DateTime,
    pub(super) until: Option<DateTime>,
    pub(super) changes: Vec<RecordedChange>,
}

/// A change, with the bytes of that state.
#[derive(Clone, Debug)]
pub(super) struct RecordedChange {
    pub(super) path: String,
    pub(super) entry: Entry,
    pub(super) bytes: Vec<u8>,
}

/// The resources of a Source, one snapshot of them, and the changes.
pub(super) struct FakeShelf {
    pub(super) base: String,
    pub(super) clock: TestClock,
    pub(super) layout: Layout,
    pub(super) resources: BTreeMap<String, ServedResource>,
    pub(super) at: DateTime,
    pub(super) snapshot: Vec<(String, Entry)>,
    pub(super) intervals: Vec<Interval>,
    pub(super) edits: BTreeMap<String, Edit>,
    pub(super) strays: Vec<Entry>,
    /// Bytes that packages hold instead of those of a path.
    pub(super) packed: BTreeMap<(String, Vec<u8>), Vec<u8>>,
}

impl FakeShelf {
    pub(super) fn new(base: String, layout: Layout) -> Self {
        let clock = TestClock::new();
        let at = clock.now();
        let first = Interval { number: 1, from: at, until: None, changes: Vec::new() };
        Self {
            base,
            clock,
            layout,
            resources: BTreeMap::new(),
            at,
            snapshot: Vec::new(),
            intervals: vec![first],
            edits: BTreeMap::new(),
            strays: Vec::new(),
            packed: BTreeMap::new(),
        }
    }

    pub(super) fn uri(&self, path: &str) -> Uri {
        Uri::parse(&format!("{}{path}", self.base)).expect("a path that a URI may have")
    }

    /// Stores a resource, a second later, and records the change.
    pub(super) fn put(&mut self, path: &str, bytes: Vec<u8>) {
        let modified = self.clock.advance(1);
        let resource = ServedResource { bytes, modified };
        let entry = self.describe(path, &resource);
        let known = self.resources.insert(path.to_owned(), resource).is_some();
        self.record(path, entry, if known { Change::Updated } else { Change::Created });
    }

    pub(super) fn delete(&mut self, path: &str) {
        self.clock.advance(1);
        if self.resources.remove(path).is_some() {
            self.record(path, Entry::new(self.uri(path)), Change::Deleted);
        }
    }

    fn record(&mut self, path: &str, mut entry: Entry, change: Change) {
        entry.metadata.change = Some(change);
        entry.metadata.datetime = Some(self.clock.now());
        let bytes = self.resources.get(path).map(|resource| resource.bytes.clone()).unwrap_or_default();
        self.open().changes.push(RecordedChange { path: path.to_owned(), entry, bytes });
        if !self.layout.change_list {
            self.take_snapshot();
        }
    }

    fn open(&mut self) -> &mut Interval {
        self.intervals.last_mut().expect("there is always an open interval")
    }

    /// Renews the Resource List.
    pub(super) fn take_snapshot(&mut self) {
        self.at = self.clock.advance(1);
        let entries = self.resources.iter();
        self.snapshot =
            entries.map(|(path, resource)| (path.clone(), self.describe(path, resource))).collect();
    }

    /// Removes all intervals but one that is empty, and open since the `at` of the Resource List.
    pub(super) fn begin_changes_at_snapshot(&mut self) {
        self.intervals = vec![Interval { number: 1, from: self.at, until: None, changes: Vec::new() }];
    }

    /// Closes the open interval and opens the next.
    pub(super) fn rotate(&mut self) {
        let now = self.clock.advance(1);
        let open = self.open();
        open.until = Some(now);
        let next = Interval { number: open.number + 1, from: now, until: None, changes: Vec::new() };
        self.intervals.push(next);
    }

    /// Forgets every change: the next interval does not reach back.
    pub(super) fn forget_changes(&mut self) {
        self.rotate();
        self.intervals.drain(..self.intervals.len() - 1);
    }

    /// Returns the entry of a resource in a list.
    fn describe(&self, path: &str, resource: &ServedResource) -> Entry {
        let mut entry = Entry::new(self.uri(path));
        entry.lastmod = self.layout.lastmod.then_some(resource.modified);
        entry.metadata.length = self.layout.length.then_some(resource.bytes.len() as u64);
        let mut hasher = Hasher::new(&self.layout.algorithms);
        hasher.update(&resource.bytes);
        entry.metadata.hash = hasher.finish();
        entry.metadata.media_type = Some(MediaType::new(media_type(path)));
        entry
    }

    /// Returns the bytes that a package holds for a path: these, unless a test set others.
    pub(super) fn pack(&self, path: &str, bytes: &[u8]) -> Vec<u8> {
        let instead = self.packed.get(&(path.to_owned(), bytes.to_vec()));
        instead.map_or_else(|| bytes.to_vec(), Clone::clone)
    }

    /// Returns the published entry: edited, if a test requested it.
    pub(super) fn publish(&self, path: &str, entry: &Entry) -> Entry {
        let mut entry = entry.clone();
        if let Some(edit) = self.edits.get(path) {
            edit(&mut entry);
        }
        entry
    }
}

/// Returns the media type for a name.
pub(super) fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "txt" => "text/plain",
        "html" => "text/html",
        "xml" => "application/xml",
        "json" => "application/json",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}
