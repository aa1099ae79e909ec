//! States that are exported and imported.

mod moves;

use std::{
    fs,
    io::BufReader,
    path::{Path, PathBuf},
};

use instep_testkit::FakeSource;
use tempfile::TempDir;

use super::StateFigures;
use crate::{
    CopyLocation, Error, ErrorKind, SyncOptions, SyncReport, TestMonitor, state::StatePlace, status, sync,
};

/// A copy of a Source, with its state at a place that the test chooses.
struct Copy {
    folder: TempDir,
}

fn wait<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(run)
}

impl Copy {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    fn sync(&self, source: &FakeSource, state: Option<&str>) -> SyncReport {
        let mut options = SyncOptions::new(source.url(""), self.dir());
        options.state = state.map(str::to_owned);
        options.delete = true;
        options.access.retries = 1;
        wait(sync(&options, &TestMonitor::new())).unwrap()
    }

    fn exported(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        CopyLocation::in_folder(self.dir()).export_state(&mut lines).unwrap();
        lines
    }

    fn import(&self, lines: &[u8], state: Option<&str>) -> Result<StateFigures, Error> {
        let mut copy = CopyLocation::in_folder(self.dir());
        copy.state = state.map(str::to_owned);
        copy.import_state(&mut BufReader::new(lines))
    }
}

/// Returns the records of an export, without its first line, which has the time.
fn records(lines: &[u8]) -> String {
    let text = String::from_utf8(lines.to_vec()).unwrap();
    let (_, records) = text.split_once('\n').unwrap();
    records.rsplit_once("{\"end\":").unwrap().0.to_owned()
}

/// Returns the URL of the state of a copy for each engine; `None` for a file.
fn engines(server: Option<&str>, copy: &str) -> Vec<Option<String>> {
    let database = server.map(|url| Some(format!("{url}?schema=moved&copy={copy}")));
    std::iter::once(None).chain(database).collect()
}

/// Returns a copy of a few resources, and the lines of its state.
fn small() -> (Copy, Vec<u8>) {
    let source = FakeSource::start().with_resources([("a.txt", "a"), ("b.txt", "b")]);
    let copy = Copy::new();
    copy.sync(&source, None);
    let lines = copy.exported();
    (copy, lines)
}

#[test]
fn o310_a_file_that_is_cut_off_or_foreign_is_said_to_be_so() {
    let (_copy, lines) = small();
    let target = Copy::new();
    let said = |bytes: &[u8]| target.import(bytes, None).unwrap_err().to_string();
    let first = lines.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    assert!(said(&lines[..first + 3]).contains("cut off after line 1:"), "{}", said(&lines[..first + 3]));
    assert!(said(b"\x7fELF\xff\xfe\n").contains("not the output of instep state export"));
    let damaged = [&lines[..first], b"\xff\n", &lines[first..]].concat();
    assert!(said(&damaged).contains("line 2: it is not UTF-8"), "{}", said(&damaged));
}

/// Each kind of line is repeated, which an engine refuses before the digest of the lines is checked.
#[test]
fn o413_a_line_that_is_there_twice_is_a_fault_of_the_file_and_not_of_the_disk() {
    let (_copy, lines) = small();
    let text = String::from_utf8(lines).unwrap();
    for kind in ["{\"source\"", "{\"set\"", "{\"setting\"", "{\"run\"", "{\"held\""] {
        let line = text.lines().find(|line| line.starts_with(kind)).unwrap();
        let twice = text.replacen(line, &format!("{line}\n{line}"), 1);
        let target = Copy::new();
        let error = target.import(twice.as_bytes(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{kind}: {error}");
        assert!(error.to_string().contains("are not those that were exported"), "{kind}: {error}");
        assert!(!target.dir().exists(), "{kind}");
    }
}

fn leaves_nothing_behind(server: Option<&str>) {
    let (_copy, lines) = small();
    for to in engines(server, "refused") {
        let target = Copy::new();
        let kept = |what: &str| {
            assert!(!target.dir().exists(), "{what}");
            if let Some(url) = &to {
                let place = StatePlace::of(target.folder.path(), Some(url)).unwrap();
                assert!(place.open_beside().is_err(), "{what}");
            }
        };
        let ends = (0..lines.len())
            .filter(|end| end % 397 == 0 || lines.len() - end < 120 || lines[end - 1] == b'\n');
        for end in ends {
            let refused = target.import(&lines[..end], to.as_deref()).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Usage, "{end}: {refused}");
            kept(&format!("cut at {end}"));
        }
        for (found, other, expected) in [
            ("\"path\":\"a.txt\"", "\"path\":\"../a.txt\"", "no path of a copy"),
            ("\"path\":\"a.txt\"", "\"path\":\"c.txt\"", "not those that were exported"),
            ("\"racy\":", "\"rare\":", "unknown field"),
            ("{\"instep state\":1", "{\"other\":1", "not the output of instep state export"),
        ] {
            let text = String::from_utf8(lines.clone()).unwrap().replacen(found, other, 1);
            let refused = target.import(text.as_bytes(), to.as_deref()).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
            kept(expected);
        }
        let more = [&lines[..], b"{\"end\":1}\n"].concat();
        assert!(
            target.import(&more, to.as_deref()).unwrap_err().to_string().contains("follows the last line")
        );
        let newer = String::from_utf8(lines.clone()).unwrap().replacen("state\":1", "state\":2", 1);
        let refused = target.import(newer.as_bytes(), to.as_deref()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NewerState, "{refused}");
        kept("newer");

        target.import(&lines, to.as_deref()).unwrap();
        let before = target.exported();
        let refused = target.import(&lines, to.as_deref()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused, "{refused}");
        assert_eq!(records(&target.exported()), records(&before));
    }
}

#[test]
fn what_version_1_exported_is_imported_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/records/state.1.jsonl");
    let lines = fs::read(golden).unwrap();
    let copy = Copy::new();
    let figures = copy.import(&lines, None).unwrap();
    assert_eq!((figures.held, figures.owed), (4, 0));
    assert_eq!(records(&copy.exported()), records(&lines));
    let held = status(&copy.dir()).unwrap();
    assert_eq!(
        held.objects.map(|objects| (objects.place, objects.packs)),
        Some(("s3://library/gold".to_owned(), 3))
    );
}

#[test]
fn an_import_into_a_file_that_fails_changes_nothing() {
    leaves_nothing_behind(None);
}

#[cfg(feature = "postgres")]
#[test]
fn an_import_into_a_database_that_fails_changes_nothing() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    leaves_nothing_behind(Some(&server.url()));
}

#[cfg(feature = "postgres")]
#[test]
fn a_uri_that_is_too_long_for_a_database_is_named_and_nothing_is_imported() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    let (_copy, lines) = small();
    let (first, long) = ("http://h/", "x".repeat(2_700));
    let text = String::from_utf8(lines).unwrap();
    let held = text.lines().find(|line| line.starts_with("{\"held\":")).unwrap();
    let uri = held.split('"').find(|part| part.starts_with("http://")).unwrap();
    let text = text.replace(uri, &format!("{first}{long}"));
    let target = Copy::new();
    let refused = target.import(text.as_bytes(), Some(&server.url())).unwrap_err();
    assert!(refused.to_string().contains("keeps URIs of up to 2600 bytes"), "{refused}");
    assert!(!target.dir().exists());
}

#[test]
fn a_state_that_a_run_has_is_exported_beside_it_and_not_imported_over() {
    let (copy, lines) = small();
    let _held = crate::store::FolderStore::open(&copy.dir(), crate::store::FolderOptions::new()).unwrap();
    assert_eq!(records(&copy.exported()), records(&lines));
    assert_eq!(copy.import(&lines, None).unwrap_err().kind(), ErrorKind::Locked);
    let nothing = Copy::new();
    let exported = CopyLocation::in_folder(nothing.dir()).export_state(&mut Vec::new());
    assert!(matches!(exported, Err(Error::NoCopy { .. })));
}
