//! A Source, a copy, and runs between them.

use std::path::PathBuf;

use instep_destination::{
    AuditOptions, AuditReport, Error, Guard, RecordedEvents, SyncOptions, SyncReport, TestMonitor, audit,
    sync,
};
use instep_testkit::{FakeSource, Layout, compare};
use resourcesync::{DateTime, Link, Relation, Uri};
use tempfile::TempDir;

/// The namespaces of a document.
pub(crate) const SPACES: &str =
    "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'";

/// A copy of a fake Source.
pub(crate) struct Copy {
    pub(crate) source: FakeSource,
    folder: TempDir,
}

/// A run, and its events.
pub(crate) struct Run {
    pub(crate) result: Result<SyncReport, Error>,
    pub(crate) heard: RecordedEvents,
}

impl Run {
    pub(crate) fn report(&self) -> &SyncReport {
        self.result.as_ref().unwrap_or_else(|error| panic!("{error:?}; heard {:?}", self.heard))
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match &self.result {
            Ok(report) => report.exit_code(),
            Err(error) => error.exit_code(),
        }
    }
}

impl Copy {
    /// Returns an empty copy of a Source.
    pub(crate) fn of(source: FakeSource) -> Self {
        Self { source, folder: TempDir::new().unwrap() }
    }

    /// Returns an empty copy of a Source of three resources.
    pub(crate) fn of_three() -> Self {
        Self::of(FakeSource::start().with_resources(three()))
    }

    /// Returns an empty copy of a Source of three resources with another layout.
    pub(crate) fn laid_out(change: impl FnOnce(&mut Layout)) -> Self {
        let mut layout = Layout::new();
        change(&mut layout);
        Self::of(FakeSource::start_with(layout).with_resources(three()))
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.dir().join(path)).ok()
    }

    /// Syncs from the root of the Source.
    pub(crate) fn sync(&self) -> Run {
        self.sync_with(|_| {})
    }

    pub(crate) fn sync_with(&self, change: impl FnOnce(&mut SyncOptions)) -> Run {
        let mut options = SyncOptions::new(self.source.url(""), self.dir());
        options.access.retries = 1;
        change(&mut options);
        let monitor = TestMonitor::new();
        let result = runtime().block_on(sync(&options, &monitor));
        Run { result, heard: monitor.recorded() }
    }

    pub(crate) fn audit(&self) -> (Result<AuditReport, Error>, RecordedEvents) {
        self.audit_with(|_| {})
    }

    pub(crate) fn audit_with(
        &self,
        change: impl FnOnce(&mut AuditOptions),
    ) -> (Result<AuditReport, Error>, RecordedEvents) {
        let mut options = AuditOptions::new(Some(self.source.url("")), self.dir());
        options.access.retries = 1;
        change(&mut options);
        let monitor = TestMonitor::new();
        let result = runtime().block_on(audit(&options, &monitor));
        (result, monitor.recorded())
    }

    /// Returns the differences between the Source and the copy.
    pub(crate) fn differences(&self) -> Vec<String> {
        let truth = TempDir::new().unwrap();
        self.source.write_to(truth.path()).unwrap();
        compare(truth.path(), &self.dir())
    }
}

pub(crate) fn three() -> [(&'static str, &'static str); 3] {
    [("a.txt", "one"), ("b.txt", "two"), ("d/c.txt", "three")]
}

/// Returns this number of small resources.
pub(crate) fn many(count: usize) -> Vec<(String, String)> {
    (0..count).map(|number| (format!("n/{number:05}.txt"), format!("text {number}"))).collect()
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Returns a package with these members.
pub(crate) fn zipped<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> Vec<u8> {
    use std::io::Write as _;

    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in members {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(crate) fn in_step(copy: &Copy, run: &Run) {
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

/// Returns the guard that refused a run; `None` if none did.
pub(crate) fn refused(run: &Run) -> Option<Guard> {
    match &run.result {
        Err(Error::Refused { guard, .. }) => Some(*guard),
        _ => None,
    }
}

/// Removes an attribute everywhere in a document.
pub(crate) fn without(text: &str, attribute: &str) -> String {
    let attribute = format!(" {attribute}=\"");
    let mut parts = text.split(&attribute);
    let head = parts.next().unwrap_or_default().to_owned();
    parts.fold(head, |text, part| text + part.split_once('"').map_or("", |(_, rest)| rest))
}

/// Reverses the order of the entries of a document, which are elements of this name.
pub(crate) fn reversed(text: &str, name: &str) -> String {
    let (first, close) = (text.find(&format!("<{name}>")), format!("</{name}>"));
    let (Some(start), Some(last)) = (first, text.rfind(&close)) else { return text.to_owned() };
    let end = last + close.len();
    let entries: Vec<&str> = text[start..end].split_inclusive(close.as_str()).collect();
    let entries: String = entries.into_iter().rev().collect();
    format!("{}{entries}{}", &text[..start], &text[end..])
}

pub(crate) fn audited(copy: &Copy) -> (u8, u64) {
    let (result, heard) = copy.audit();
    let report = result.unwrap_or_else(|error| panic!("{error:?}; heard {heard:?}"));
    (report.exit_code(), report.same)
}

/// Returns a copy of three resources, with one Change List that is not an index.
pub(crate) fn with_one_change_list() -> Copy {
    let mut layout = Layout::new();
    layout.change_index = false;
    Copy::of(FakeSource::start_with(layout).with_resources(three()))
}

/// Syncs with all versions and deletions.
pub(crate) fn keeping(copy: &Copy) -> Run {
    copy.sync_with(|options| {
        options.all_versions = true;
        options.delete = true;
    })
}

/// Returns the versions kept of a resource, oldest first.
pub(crate) fn versions(copy: &Copy, path: &str) -> Vec<String> {
    let folder = copy.dir().join(".instep/versions").join(path);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Adds a link of a relation to a path to the entry of a resource.
pub(crate) fn link(
    copy: &Copy,
    path: &'static str,
    relation: Relation,
    target: &str,
    modified: Option<DateTime>,
) {
    let target = Uri::parse(&copy.source.url(target)).unwrap();
    copy.source.misstate(path, move |entry| {
        let mut link = Link::new(relation.clone(), target.clone());
        link.modified = modified;
        entry.links.push(link);
    });
}
