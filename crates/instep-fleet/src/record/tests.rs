//! Files of each version of the record.

mod counting;
mod repeating;
#[cfg(feature = "postgres")]
mod upgrade;

use std::{fs, path::Path};

use instep_destination::CopySize;
use rusqlite::Connection;

use super::*;
use crate::{Cadence, place::FleetPlace};

fn name(text: &str) -> SourceName {
    text.parse().unwrap()
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
    let record = FleetRecord::existing(&FleetPlace::in_folder(dir.path())).unwrap();
    (dir, record)
}

#[test]
fn a_source_of_version_5_that_failed_has_no_cause_until_its_next_look() {
    let (_dir, record) = golden(5);
    let standing = record.source(&name("letters")).unwrap().standing;
    assert_eq!((standing.failures, standing.exit_code, standing.cause), (2, Some(4), None));
}

#[test]
fn a_source_of_version_3_counts_as_in_step_until_its_next_look() {
    let (_dir, record) = golden(3);
    let letters = record.source(&name("letters")).unwrap();
    assert!(letters.standing.in_step);
    assert_eq!((letters.standing.exit_code, letters.standing.cause), (Some(0), None));
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
        (12, Some(CopySize::new(12, 3_456)), true)
    );
    assert_eq!(record.looks(&name("letters")).unwrap()[0].lag, Some(60));
    assert_eq!(record.actions(i64::MAX, 1).unwrap()[0].who, "ada");
    let worker = FleetWorker { id: 1, name: "w".to_owned(), url: None, began: 1, running: 0, beat: 0 };
    record.register(&worker).unwrap();
    let (last, alerts) = record.take_alerts(1, i64::MAX, 9).unwrap();
    assert_eq!((last, alerts[0].1.kind), (1, crate::AlertKind::Quarantined));
    assert_eq!(record.survey(&name("letters")).unwrap(), None);
    let added = SourceDefinition::new(name("a"), "https://a.example/");
    record.add(&[added], 0).unwrap();
}

#[test]
fn a_record_of_a_newer_version_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    drop(FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap());
    let path = dir.path().join(".instep/fleet.sqlite");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap_err();
    assert_eq!(error.exit_code(), 10, "{error}");
}

#[test]
fn the_looks_of_a_page_are_read_by_their_key_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
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
        FleetRecord::add_look(&*record.engine, &name("a"), &look(1)).unwrap();
        FleetRecord::add_look(&*record.engine, &name("b"), &look(2)).unwrap();
    }
    let looks = record.looks_of(&[name("b"), name("nobody")], 20).unwrap();
    let times: Vec<_> = looks[&name("b")].iter().map(|look| look.at).collect();
    assert_eq!(times, (130..150).collect::<Vec<_>>());
    assert!(looks[&name("b")].iter().all(|look| look.held == 2) && looks[&name("nobody")].is_empty());
    let file = Connection::open(dir.path().join(".instep/fleet.sqlite")).unwrap();
    let mut read = file.prepare(&journal::LAST_LOOKS.replace('$', "?")).unwrap();
    let rows = read.query_map(rusqlite::params!["b", 20], |row| row.get::<_, i64>(0)).unwrap().count();
    assert_eq!(rows, 20);
    assert_eq!(read.get_status(rusqlite::StatementStatus::FullscanStep), 0);
    assert_eq!(read.get_status(rusqlite::StatementStatus::Sort), 0);
}

#[test]
fn o721_a_change_of_a_command_that_could_not_be_read_is_read_the_next_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
    let definition = SourceDefinition::new(name("a"), "https://a.example/");
    record.add(std::slice::from_ref(&definition), 0).unwrap();
    assert!(record.read_again().unwrap().are_all);
    let beside = Connection::open(dir.path().join(".instep/fleet.sqlite")).unwrap();
    beside.execute("UPDATE source SET paused = 1, definition = '{'", []).unwrap();
    record.read_again().unwrap_err();
    // Over the same connection, which does not see its own changes as those of others.
    let define = |record: &FleetRecord, json: &str| {
        record.engine.execute("UPDATE source SET definition = $1", &[json.into()]).unwrap();
    };
    let whole = rows::json(&definition).unwrap();
    define(&record, &whole);
    let read = record.read_again().unwrap();
    assert!(read.sources.iter().any(|source| source.standing.paused), "{read:?}");
    assert!(record.read_again().unwrap().sources.is_empty());
    // A change of its own.
    record.operate(SourceOperation::Resume, &[name("a")], ("ada", 1)).unwrap();
    define(&record, "{");
    record.sources_after_change().unwrap_err();
    define(&record, &whole);
    assert!(record.read_again().unwrap().are_all);
}

#[test]
fn o272_a_file_in_the_place_of_a_fleet_is_named_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let own = dir.path().join("fleet/.instep");
    fs::create_dir(own.parent().unwrap()).unwrap();
    fs::write(&own, "").unwrap();
    for (place, named) in
        [(file.clone(), file.clone()), (file.join("fleet"), file), (dir.path().join("fleet"), own)]
    {
        let message = FleetRecord::open(&FleetPlace::in_folder(place)).unwrap_err().to_string();
        assert!(message.contains(&named.display().to_string()), "{message}");
        assert!(message.contains("it is a file") || message.contains("Not a directory"), "{message}");
    }
}

#[test]
fn o445_a_fault_of_the_disk_is_not_taken_for_a_folder_without_a_fleet() {
    let dir = tempfile::tempdir().unwrap();
    let existing = || FleetRecord::existing(&FleetPlace::in_folder(dir.path())).unwrap_err();
    assert!(matches!(existing(), FleetError::NoFleet { .. }));
    std::os::unix::fs::symlink(".instep", dir.path().join(".instep")).unwrap();
    assert!(matches!(existing(), FleetError::Folder { .. }), "a link that leads to itself");
}

#[test]
fn o308_a_worker_has_no_folder_of_a_copy_or_of_a_source_whichever_engine_they_use() {
    for (file, what) in [
        ("state.sqlite", "a copy"),
        ("state.json", "a copy"),
        ("catalogue.db", "a Source"),
        ("catalogue.json", "a Source"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".instep")).unwrap();
        fs::write(dir.path().join(".instep").join(file), "").unwrap();
        let alone = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap_err();
        // The folder of a worker whose record is in a database.
        let shared = FleetRecord::make_folder(dir.path()).unwrap_err();
        for refused in [alone, shared] {
            assert!(refused.to_string().contains(&format!("is the folder of {what}")), "{refused}");
        }
    }
}
