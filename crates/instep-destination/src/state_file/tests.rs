//! States that move from each engine to each other one.

use std::{
    fs,
    io::BufReader,
    path::{Path, PathBuf},
};

use instep_testkit::{FakeSource, Fault};
use resourcesync::{DateTime, Uri};
use tempfile::TempDir;

use super::{StateFigures, export_state, import_state};
use crate::{
    Error, ErrorKind, SyncOptions, SyncReport, TestMonitor, audit,
    options::AuditOptions,
    plan::Desired,
    run::LocalCopy,
    state::{DocumentRecord, HeldAt, Ledger, LoggedProblem, Owed, StatePlace, Waits},
    status, sync,
};

/// A copy of a Source, with a state where it is wanted.
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
        export_state(&self.dir(), &mut lines).unwrap();
        lines
    }

    fn import(&self, lines: &[u8], state: Option<&str>) -> Result<StateFigures, Error> {
        import_state(&self.dir(), state, &mut BufReader::new(lines))
    }
}

/// The records of an export: the first line has its time.
fn records(lines: &[u8]) -> String {
    let text = String::from_utf8(lines.to_vec()).unwrap();
    let (_, records) = text.split_once('\n').unwrap();
    records.rsplit_once("{\"end\":").unwrap().0.to_owned()
}

/// Fills a copy with what a state may have besides what runs leave.
fn enrich(dir: &Path) {
    let own = LocalCopy::own_folder(dir);
    let place = StatePlace::of(&own, None).unwrap();
    let mut state = place.open(&own).unwrap();
    let set = state.sets().unwrap()[0].0;
    let other = state.set("http://h/other.xml").unwrap();
    let held = state.held_after(None, 2).unwrap();
    state.record_changes();
    state.begin_packs(&["packs/a-1.warc.gz", "packs/begun.warc.gz"]).unwrap();
    let at = HeldAt::Object { key: "packs/a-1.warc.gz".into(), offset: 7, length: 40 };
    let operation = crate::state::Operation::Place {
        uri: held[0].uri.clone(),
        path: held[0].path.clone(),
        key: Some("another name".to_owned()),
        staged: 0,
        sets: other.mask(),
        metadata: held[0].metadata.clone(),
        replaces: true,
        place: HeldAt::Path,
    };
    let mut packed = Uri::parse("http://h/packed").unwrap();
    let in_pack = crate::state::Operation::Place {
        uri: packed.clone(),
        path: crate::CopyPath::from_state("packed").unwrap(),
        key: None,
        staged: 0,
        sets: set.mask(),
        metadata: held[1].metadata.clone(),
        replaces: false,
        place: at,
    };
    let mut ledger = Ledger { packs: vec![("packs/a-1.warc.gz".into(), 90)], ..Ledger::default() };
    ledger.racy.insert(held[1].uri.as_str().to_owned(), true);
    ledger.gone.push((Uri::parse("http://h/gone").unwrap(), set, DateTime::from_unix_micros(1_234_567)));
    let mut desired = Desired::new(packed.clone());
    desired.set_retrieval_text(Some(r#"{"mirrors":["http://m/x"]}"#)).unwrap();
    ledger.owe(set, Owed::new(desired, "missing: 404\0".to_owned()));
    let mut checkpoint = state.checkpoint(set).unwrap().unwrap_or_default();
    checkpoint.leading = Some([7; 32]);
    checkpoint.document = Some(packed.clone());
    ledger.checkpoints.insert(set, checkpoint);
    packed = Uri::parse(&format!("http://h/{}", "x".repeat(3_000))).unwrap();
    ledger.documents.push(DocumentRecord { extra: Some("note".into()), ..DocumentRecord::new(packed) });
    state.commit_group(None, &[&[operation.clone(), in_pack]], &ledger).unwrap();
    let source = state.sources().unwrap()[0].0;
    let run = state.begin_run(DateTime::from_unix_seconds(5), "sync", Some(source)).unwrap();
    let mut logged = crate::state::LoggedRun::new(run, DateTime::from_unix_seconds(5), "list");
    (logged.finished, logged.exit_code) = (Some(DateTime::from_unix_seconds(6)), Some(3));
    state.finish_run(&logged, &[LoggedProblem::new("missing", 2, None, "404".to_owned())]).unwrap();
    state.begin_run(DateTime::from_unix_seconds(7), "sync", None).unwrap();
    state.set_waits(Waits::Disk).unwrap();
    state.write_intent(&[operation]).unwrap();
    state.make_durable().unwrap();
}

/// Each engine as the state of a copy is asked to be there.
fn engines(server: Option<&str>, copy: &str) -> Vec<Option<String>> {
    let database = server.map(|url| Some(format!("{url}?schema=moved&copy={copy}")));
    std::iter::once(None).chain(database).collect()
}

/// The round trip between engines: what is exported again is what was exported, to the last record.
fn moves_between(server: Option<&str>) {
    for from in engines(server, "from") {
        let source = FakeSource::start()
            .with_resources((0..40).map(|n| (format!("n/{n:02}.txt"), format!("text {n}"))));
        source.fail_always("n/07.txt", Fault::Status(404));
        let first = Copy::new();
        let started = first.sync(&source, from.as_deref());
        assert_eq!((started.created, started.exit_code()), (39, 3));
        source.heal();
        for (number, to) in engines(server, "to").into_iter().enumerate() {
            let to = to.map(|url| format!("{url}-{number}-{}", from.is_some()));
            // A sync in the place that it was moved to takes up what was pending, and nothing else.
            let lines = first.exported();
            let moved = Copy::new();
            copy_files(&first.dir(), &moved.dir());
            let figures = moved.import(&lines, to.as_deref()).unwrap();
            assert_eq!((figures.held, figures.owed), (39, 1));
            assert_eq!(records(&moved.exported()), records(&lines), "{from:?} to {to:?}");
            assert_eq!(moved.dir().join(".instep/state.json").exists(), to.is_some());
            let before = source.requests().len();
            let report = moved.sync(&source, None);
            assert_eq!((report.created, report.updated, report.deleted), (1, 0, 0), "{report:?}");
            let fetched = source.requests().split_off(before);
            let fetched: Vec<_> = fetched
                .iter()
                .map(|request| request.path.as_str())
                .filter(|path| path.starts_with("n/"))
                .collect();
            assert_eq!(fetched, ["n/07.txt"]);
            let again = moved.sync(&source, None);
            assert_eq!((again.created, again.updated, again.deleted, again.exit_code()), (0, 0, 0, 0));
            assert_eq!(status(&moved.dir()).unwrap().held, 40);
            let audited =
                wait(audit(&AuditOptions::new(Some(source.url("")), moved.dir()), &TestMonitor::new()));
            assert_eq!(audited.unwrap().exit_code(), 0);

            // Everything that a state may have.
            enrich(&moved.dir());
            let lines = moved.exported();
            for kind in [
                "source", "set", "setting", "document", "run", "problem", "reached", "object", "held",
                "owed", "gone", "change", "group",
            ] {
                assert!(records(&lines).contains(&format!("{{\"{kind}\":")), "no {kind}");
            }
            for (back, place) in engines(server, "back").into_iter().enumerate() {
                let place = place.map(|url| format!("{url}-{number}-{back}-{}", from.is_some()));
                let copy = Copy::new();
                copy.import(&lines, place.as_deref()).unwrap();
                let is_short = |line: &&str| !(line.contains("\"document\"") && line.len() > 2_600);
                let expected = records(&lines);
                let expected: Vec<&str> =
                    expected.lines().filter(|line| place.is_none() || is_short(line)).collect();
                let found = records(&copy.exported());
                assert_eq!(found.lines().collect::<Vec<_>>(), expected);
                // Numbers of changes go on rising.
                let state = LocalCopy::state_at(&(&*copy.dir()).into()).unwrap().open_beside().unwrap();
                let last = state.changes(100).unwrap().last().unwrap().sequence;
                assert!(state.last_change().unwrap() >= last);
            }
        }
    }
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_name() == ".instep" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy_files(&entry.path(), &target);
        } else {
            fs::create_dir_all(to).unwrap();
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_state_moves_to_another_file_with_all_that_it_has() {
    moves_between(None);
}

#[cfg(feature = "postgres")]
#[test]
fn a_state_moves_between_all_engines_with_all_that_it_has() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    moves_between(Some(&server.url()));
}

/// A copy of a few resources, and the lines of its state.
fn small() -> (Copy, Vec<u8>) {
    let source = FakeSource::start().with_resources([("a.txt", "a"), ("b.txt", "b")]);
    let copy = Copy::new();
    copy.sync(&source, None);
    let lines = copy.exported();
    (copy, lines)
}

/// Lines that are cut off anywhere, or changed, and an engine that has a state: nothing is changed.
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
    assert!(matches!(export_state(&nothing.dir(), &mut Vec::new()), Err(Error::NoCopy { .. })));
}
