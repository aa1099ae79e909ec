//! States that move from each engine to each other one, and back.

use std::{fs, path::Path};

use instep_testkit::{FakeSource, Fault};
use resourcesync::{DateTime, Uri};

use super::*;
use crate::{
    TestMonitor, audit,
    options::AuditOptions,
    plan::Desired,
    run::LocalCopy,
    state::{DocumentRecord, HeldAt, Ledger, LoggedProblem, Owed, StatePlace, Waits},
    status,
};

/// Fills the state of a copy with the records that the runs of this test do not write.
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

/// Moves a state between engines, and checks that a second export has the same records as the first.
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
            // A run over the moved state fetches the pending resources and nothing else.
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

            // Now the state has every kind of record.
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
                // The numbers of changes continue from the highest one.
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
