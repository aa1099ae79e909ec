//! The record: what commands and the process write, and files of each version.

use std::path::{Path, PathBuf};

use super::*;
use crate::Cadence;

fn source(name: &str) -> SourceDefinition {
    SourceDefinition::new(name.parse().unwrap(), format!("https://{name}.example/"))
}

fn name(text: &str) -> SourceName {
    text.parse().unwrap()
}

#[test]
fn what_is_written_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(dir.path()).unwrap();
    let mut a = source("a");
    a.into = Some(PathBuf::from("elsewhere"));
    a.cadence = Cadence::At { minutes: vec![210] };
    (a.delete, a.max_delete, a.priority, a.approve) = (true, Some("5%".to_owned()), -3, true);
    a.include = vec!["*.pdf".to_owned()];
    record.add(&[a.clone(), source("b")], 7).unwrap();
    let mut standing = record.source(&a.name).unwrap().standing;
    assert_eq!((standing.added, standing.due, standing.interval), (7, 7, 900));
    standing.sized = Some((3, 4_000));
    (standing.began, standing.ended, standing.exit_code) = (Some(8), Some(9), Some(3));
    (standing.success, standing.checkpoint, standing.alerted) =
        (Some(9), Some(5), Some("failing".to_owned()));
    (standing.held, standing.bytes, standing.pending, standing.failures) = (1, 2, 3, 4);
    "+1 ~0 -0".clone_into(&mut standing.summary);
    record.write(&a.name, &standing).unwrap();
    record.approve(&a.name).unwrap();
    record.pause(&a.name, true).unwrap();
    let record = FleetRecord::existing(dir.path()).unwrap();
    let read = record.source(&a.name).unwrap();
    assert_eq!(read.definition, a);
    assert_eq!(read.standing, SourceStanding { approved: true, paused: true, wanted: true, ..standing });
    assert_eq!(record.sources().unwrap().len(), 2);
}

#[test]
fn a_name_or_folder_is_given_once_and_nothing_is_half_added() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(dir.path()).unwrap();
    record.add(&[source("a")], 0).unwrap();
    let mut same_folder = source("c");
    same_folder.into = Some(PathBuf::from("a"));
    for wrong in [source("a"), same_folder] {
        let error = record.add(&[source("b"), wrong], 0).unwrap_err();
        assert!(matches!(error, FleetError::Twice { .. }) && error.exit_code() == 2, "{error}");
        assert_eq!(record.sources().unwrap().len(), 1);
    }
    let error = record.configure(&[source("a")], 0).unwrap_err();
    assert_eq!(error.to_string(), "There is a Source a already: it was added by instep source");
    let mut wrong = source("d");
    "ftp://d.example/".clone_into(&mut wrong.url);
    assert!(matches!(record.add(&[wrong], 0), Err(FleetError::Definition { .. })));
}

#[test]
fn the_configuration_file_decides_about_its_own_sources_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(dir.path()).unwrap();
    record.add(&[source("ours")], 0).unwrap();
    record.configure(&[source("a"), source("b")], 1).unwrap();
    record.pause(&name("a"), true).unwrap();
    assert!(matches!(record.remove(&name("a")), Err(FleetError::Unfit { .. })));
    let mut changed = source("a");
    changed.delete = true;
    record.configure(&[changed.clone()], 2).unwrap();
    let names: Vec<_> =
        record.sources().unwrap().into_iter().map(|known| known.definition.name.to_string()).collect();
    assert_eq!(names, ["a", "ours"]);
    let a = record.source(&name("a")).unwrap();
    assert_eq!((a.definition, a.standing.added, a.standing.paused), (changed, 1, true));
    record.remove(&name("ours")).unwrap();
    assert!(matches!(record.pause(&name("ours"), true), Err(FleetError::Unknown { .. })));
}

#[test]
fn a_process_sees_that_a_command_wrote_and_not_what_it_wrote_itself() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = FleetRecord::open(dir.path()).unwrap();
    let before = process.version().unwrap();
    process.add(&[source("a")], 0).unwrap();
    assert_eq!(process.version().unwrap(), before);
    FleetRecord::open(dir.path()).unwrap().pause(&name("a"), true).unwrap();
    assert_ne!(process.version().unwrap(), before);
}

#[test]
fn the_trend_keeps_the_newest_looks() {
    let dir = tempfile::tempdir().unwrap();
    let record = FleetRecord::open(dir.path()).unwrap();
    for at in 0..250 {
        let look = LookSample {
            at,
            exit_code: 0,
            lag: Some(5),
            held: 1,
            bytes: 2,
            pending: 0,
            changed: 1,
            transferred: 9,
        };
        record.add_look(&name("a"), &look).unwrap();
    }
    let looks = record.looks(&name("a")).unwrap();
    assert_eq!((looks.len(), looks[0].at, looks[199].at), (200, 50, 249));
}

#[test]
fn actions_are_paged_from_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let record = FleetRecord::open(dir.path()).unwrap();
    for at in 0..5 {
        record.note_action(at, "ada", "pause", Some(&name("a"))).unwrap();
    }
    let page = record.actions(i64::MAX, 2).unwrap();
    assert_eq!(page.iter().map(|line| line.at).collect::<Vec<_>>(), [4, 3]);
    assert_eq!(record.actions(page[1].id, 9).unwrap().len(), 3);
}

/// Opens a record as a version wrote it.
fn golden(version: u32) -> (tempfile::TempDir, FleetRecord) {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join(".instep");
    fs::create_dir(&own).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/fleet.{version}.sql"));
    let file = Connection::open(own.join("fleet.sqlite")).unwrap();
    file.execute_batch(&fs::read_to_string(golden).unwrap()).unwrap();
    drop(file);
    let record = FleetRecord::existing(dir.path()).unwrap();
    (dir, record)
}

#[test]
fn a_record_of_version_2_is_read() {
    let (_dir, mut record) = golden(2);
    let survey = record.survey(&name("letters")).unwrap().unwrap();
    let document = &survey.documents["https://example.org/capabilitylist.xml"];
    assert_eq!((document.entries, document.leads_to.len()), (Some(1), 1));
    assert_eq!((document.broken[0].rule.as_str(), document.broken[0].line), ("NAV-1", 3));
    record.configure(&[], 0).unwrap();
    assert_eq!(record.survey(&name("letters")).unwrap(), None, "it goes with its Source");
}

#[test]
fn a_record_of_version_1_is_read() {
    let (_dir, mut record) = golden(1);
    let read = record.source(&name("letters")).unwrap();
    assert_eq!(read.definition.url, "https://example.org/letters/");
    assert_eq!(read.definition.cadence, Cadence::Every { seconds: 3_600 });
    assert_eq!(
        (read.standing.held, read.standing.sized, read.standing.quarantined),
        (12, Some((12, 3_456)), true)
    );
    assert_eq!(record.looks(&name("letters")).unwrap()[0].lag, Some(60));
    assert_eq!(record.actions(i64::MAX, 1).unwrap()[0].who, "ada");
    let (last, alerts) = record.unsent_alerts(9).unwrap();
    assert_eq!((last, alerts[0].kind), (1, crate::AlertKind::Quarantined));
    assert_eq!(record.survey(&name("letters")).unwrap(), None);
    record.add(&[source("a")], 0).unwrap();
}

#[test]
fn a_record_of_a_newer_version_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    drop(FleetRecord::open(dir.path()).unwrap());
    let path = dir.path().join(".instep/fleet.sqlite");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = FleetRecord::open(dir.path()).unwrap_err();
    assert_eq!(error.exit_code(), 10, "{error}");
}

#[test]
fn the_looks_of_a_page_are_read_by_their_key_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(dir.path()).unwrap();
    record.add(&[source("a"), source("b")], 0).unwrap();
    for at in 0..150 {
        let look = |held| LookSample {
            at,
            exit_code: 0,
            lag: None,
            held,
            bytes: 0,
            pending: 0,
            changed: 0,
            transferred: 0,
        };
        record.add_look(&name("a"), &look(1)).unwrap();
        record.add_look(&name("b"), &look(2)).unwrap();
    }
    let looks = record.looks_of(&[name("b"), name("nobody")], 20).unwrap();
    let times: Vec<_> = looks[&name("b")].iter().map(|look| look.at).collect();
    assert_eq!(times, (130..150).collect::<Vec<_>>());
    assert!(looks[&name("b")].iter().all(|look| look.held == 2) && looks[&name("nobody")].is_empty());
    let mut read = record.connection.prepare(journal::LAST_LOOKS).unwrap();
    let rows = read.query_map(rusqlite::params!["b", 20], |row| row.get::<_, i64>(0)).unwrap().count();
    assert_eq!(rows, 20);
    assert_eq!(read.get_status(rusqlite::StatementStatus::FullscanStep), 0);
    assert_eq!(read.get_status(rusqlite::StatementStatus::Sort), 0);
}
