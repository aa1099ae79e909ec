//! Everything that commands and processes write is read back, and never half of it.

use std::path::PathBuf;

use instep_destination::CopySize;
use instep_testkit::wait_until;

use super::support::{TestFleet, name, operate, source, worker};
use crate::{
    Cadence, FleetError, FleetRecord, LookCause, LookSample, SourceDefinition, SourceOperation,
    record::{Claim, LookEnding, engine::Statements},
    standing::SourceStanding,
};

pub(super) fn what_is_written_is_read_again(at: &TestFleet) {
    let mut record = FleetRecord::open(&at.place).unwrap();
    let mut a = source("a");
    a.into = Some(PathBuf::from("elsewhere"));
    a.cadence = Cadence::At { minutes: vec![210] };
    (a.delete, a.max_delete, a.priority, a.approve) = (true, Some("5%".to_owned()), -3, true);
    a.include = vec!["*.pdf".to_owned()];
    record.add(&[a.clone(), source("b")], 7).unwrap();
    let mut standing = record.source(&a.name).unwrap().standing;
    assert_eq!((standing.added, standing.due, standing.interval), (7, 7, 900));
    standing.sized = Some(CopySize::new(3, 4_000));
    (standing.began, standing.ended, standing.exit_code) = (Some(8), Some(9), Some(3));
    (standing.success, standing.checkpoint, standing.alerted) =
        (Some(9), Some(5), Some("failing".to_owned()));
    (standing.held, standing.bytes, standing.pending, standing.failures) = (1, 2, 3, 4);
    "+1 ~0 -0".clone_into(&mut standing.summary);
    (standing.in_step, standing.cause) = (true, Some(LookCause::NoLogin));
    record.register(&worker(1)).unwrap();
    let Claim::Taken(held) = record.claim(1, (&a.name, 0), ("https://a.example", 4), 8).unwrap() else {
        panic!("it is free")
    };
    let ending = LookEnding {
        name: a.name.clone(),
        hold: held.hold,
        standing: standing.clone(),
        sample: None,
        alert: None,
        survey: None,
    };
    assert!(record.finish(&ending).unwrap().is_some());
    operate(&mut record, SourceOperation::Approve, "a").unwrap();
    operate(&mut record, SourceOperation::Pause, "a").unwrap();
    let record = FleetRecord::existing(&at.place).unwrap();
    let read = record.source(&a.name).unwrap();
    assert_eq!(read.definition, a);
    assert_eq!(read.standing, SourceStanding { approved: true, paused: true, wanted: true, ..standing });
    assert_eq!(record.sources().unwrap().len(), 2);
}

pub(super) fn a_name_or_folder_is_given_once_and_nothing_is_half_added(at: &TestFleet) {
    let mut record = FleetRecord::open(&at.place).unwrap();
    record.add(&[source("a")], 0).unwrap();
    let mut same_folder = source("c");
    same_folder.into = Some(PathBuf::from("a"));
    for (wrong, part) in [(source("a"), "already"), (same_folder, "is the folder of a")] {
        let error = record.add(&[source("b"), wrong], 1).unwrap_err();
        assert!(error.to_string().contains(part) && error.exit_code() == 2, "{error}");
        assert_eq!(record.sources().unwrap().len(), 1);
    }
    let error = record.configure(&[source("a")], 0).unwrap_err();
    assert_eq!(error.to_string(), "There is a Source a already: it was added by instep source");
    let mut wrong = source("d");
    "ftp://d.example/".clone_into(&mut wrong.url);
    assert!(matches!(record.add(&[wrong], 0), Err(FleetError::Definition { .. })));
}

/// Returns a Source with a folder of its own choice.
fn in_folder(of: &str, folder: impl Into<PathBuf>) -> SourceDefinition {
    let mut definition = source(of);
    definition.into = Some(folder.into());
    definition
}

pub(super) fn o101_no_copy_is_in_the_folder_of_another_in_any_spelling(at: &TestFleet) {
    let mut record = FleetRecord::open(&at.place).unwrap();
    record.add(&[in_folder("a", "x/y")], 0).unwrap();
    let whole = std::path::absolute(&at.place.dir).unwrap();
    let same = ["x/y/", "./x/y", "x//y", "x/z/../y"].map(PathBuf::from);
    let others = [
        whole.join("x/y"),
        "x".into(),
        "x/y/z".into(),
        "".into(),
        ".".into(),
        "..".into(),
        ".instep/b".into(),
    ];
    for folder in same.into_iter().chain(others) {
        let error = record.add(&[in_folder("b", &folder)], 1).unwrap_err();
        assert!(matches!(error, FleetError::Overlap { .. }) && error.exit_code() == 2, "{folder:?}: {error}");
        assert_eq!(record.sources().unwrap().len(), 1, "{folder:?}");
    }
    record.add(&[in_folder("b", "x/yz"), in_folder("c", "../beside")], 1).unwrap();
    let error = record.configure(&[in_folder("d", "z/e"), in_folder("e", "z")], 2).unwrap_err();
    assert!(error.to_string().contains("lies within the folder of e"), "{error}");
}

pub(super) fn o102_a_new_configuration_may_exchange_the_folders_of_two_sources(at: &TestFleet) {
    let mut record = FleetRecord::open(&at.place).unwrap();
    record.configure(&[in_folder("a", "x"), in_folder("b", "y")], 0).unwrap();
    record.configure(&[in_folder("a", "y"), in_folder("b", "x")], 1).unwrap();
    let folder = |of: &str| record.source(&name(of)).unwrap().definition.folder();
    assert_eq!((folder("a"), folder("b")), (PathBuf::from("y"), PathBuf::from("x")));
}

pub(super) fn the_configuration_file_decides_about_its_own_sources_only(at: &TestFleet) {
    let mut record = FleetRecord::open(&at.place).unwrap();
    record.add(&[source("ours")], 0).unwrap();
    record.configure(&[source("a"), source("b")], 1).unwrap();
    operate(&mut record, SourceOperation::Pause, "a").unwrap();
    assert!(matches!(operate(&mut record, SourceOperation::Forget, "a"), Err(FleetError::Unfit { .. })));
    let mut changed = source("a");
    changed.delete = true;
    record.configure(&[changed.clone()], 2).unwrap();
    let names: Vec<_> =
        record.sources().unwrap().into_iter().map(|known| known.definition.name.to_string()).collect();
    assert_eq!(names, ["a", "ours"]);
    let a = record.source(&name("a")).unwrap();
    assert_eq!((a.definition, a.standing.added, a.standing.paused), (changed, 1, true));
    operate(&mut record, SourceOperation::Forget, "ours").unwrap();
    assert!(matches!(operate(&mut record, SourceOperation::Pause, "ours"), Err(FleetError::Unknown { .. })));
}

pub(super) fn a_process_reads_again_what_a_command_wrote(at: &TestFleet) {
    let mut process = at.open();
    process.add(&[source("a"), source("b")], 0).unwrap();
    let all = process.read_again().unwrap();
    assert!(all.are_all && all.sources.len() == 2);
    operate(&mut at.open(), SourceOperation::Pause, "a").unwrap();
    let again = process.read_again().unwrap().sources;
    assert!(again.iter().any(|known| known.definition.name == name("a") && known.standing.paused));
    operate(&mut at.open(), SourceOperation::Forget, "b").unwrap();
    // With a database, the Sources are counted only from time to time.
    wait_until("the Source that was removed is unknown", || {
        let again = process.read_again().unwrap();
        again.are_all && again.sources.len() == 1 || again.number == Some(1)
    });
}

pub(super) fn the_trend_keeps_the_newest_looks(at: &TestFleet) {
    let record = FleetRecord::open(&at.place).unwrap();
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
        record.engine.transaction(&mut |rows| FleetRecord::add_look(rows, &name("a"), &look)).unwrap();
    }
    let looks = record.looks(&name("a")).unwrap();
    assert_eq!((looks.len(), looks[0].at, looks[199].at), (200, 50, 249));
    // A page of the dashboard reads those of many Sources, with few statements.
    let names: Vec<_> = (0..60).map(|number| name(&format!("n{number}"))).chain([name("a")]).collect();
    let looks = record.looks_of(&names, 3).unwrap();
    let of_a: Vec<_> = looks[&name("a")].iter().map(|look| (look.at, look.lag, look.transferred)).collect();
    assert_eq!(of_a, [(247, Some(5), 9), (248, Some(5), 9), (249, Some(5), 9)]);
    assert_eq!((looks.len(), looks.values().filter(|looks| looks.is_empty()).count()), (61, 60));
}

pub(super) fn actions_are_paged_from_the_newest(at: &TestFleet) {
    let record = FleetRecord::open(&at.place).unwrap();
    for at in 0..5 {
        record.note_action(at, "ada", "pause", Some(&name("a"))).unwrap();
    }
    let page = record.actions(i64::MAX, 2).unwrap();
    assert_eq!(page.iter().map(|line| line.at).collect::<Vec<_>>(), [4, 3]);
    assert_eq!(record.actions(page[1].id, 9).unwrap().len(), 3);
}

pub(super) fn o165_an_action_is_in_the_log_once(at: &TestFleet) {
    let record = FleetRecord::open(&at.place).unwrap();
    // As a transaction that is repeated, because the answer to its commit was lost.
    (0..2).for_each(|_| record.note_action(7, "ada", "pause", Some(&name("a"))).unwrap());
    record.note_action(7, "ada", "pause", Some(&name("b"))).unwrap();
    record.note_action(7, "ada", "reload", None).unwrap();
    record.note_action(7, "ada", "reload", None).unwrap();
    assert_eq!(record.actions(i64::MAX, 9).unwrap().len(), 3);
}

pub(super) fn o503_many_sources_are_added_as_if_one_by_one(at: &TestFleet) {
    let mut record = at.open();
    let named = |numbers: std::ops::Range<usize>| {
        numbers.map(|number| source(&format!("s{number}"))).collect::<Vec<_>>()
    };
    record.add(&named(0..600), 1).unwrap();
    // The last one is taken, so that none is added.
    let mut more = named(600..1_100);
    more.push(source("s599"));
    let error = record.add(&more, 2).unwrap_err();
    assert!(error.to_string().contains("s599"), "{error}");
    record.configure(&named(600..900), 3).unwrap();
    let sources = record.sources().unwrap();
    assert_eq!(sources.len(), 900);
    assert!(sources.iter().all(|source| source.standing.due == if source.from_file { 3 } else { 1 }));
    let all = named(0..600);
    for _ in 0..2 {
        // The second time as if the answer was lost.
        let mut note = |rows: &dyn Statements| record.note_each(rows, 4, ("ada", "import"), &all);
        record.engine.transaction(&mut note).unwrap();
    }
    let log = record.actions(i64::MAX, 2_000).unwrap();
    assert_eq!(
        (log.len(), log[0].source.as_deref(), log[599].source.as_deref()),
        (600, Some("s599"), Some("s0"))
    );
}
