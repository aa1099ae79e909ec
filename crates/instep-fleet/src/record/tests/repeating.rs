//! Work that is carried out twice, because the answer to its commit was lost.

use super::*;
use crate::record::engine::{RecordWork, Statements};

/// Repeats each transaction after its commit, as a record does that several processes share.
#[derive(Debug)]
struct RepeatingEngine(Box<dyn RecordEngine>);

impl Statements for RepeatingEngine {
    fn query(&self, sql: &str, fields: &[Field]) -> Result<Vec<FieldRow>, FleetError> {
        self.0.query(sql, fields)
    }

    fn execute(&self, sql: &str, fields: &[Field]) -> Result<u64, FleetError> {
        self.0.execute(sql, fields)
    }
}

impl RecordEngine for RepeatingEngine {
    fn place(&self) -> String {
        self.0.place()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn transaction(&self, work: &mut RecordWork<'_>) -> Result<(), FleetError> {
        self.0.transaction(work)?;
        self.0.transaction(work)
    }

    fn written_by_others(&mut self) -> Result<WrittenByOthers, FleetError> {
        self.0.written_by_others()
    }

    fn is_to_count(&mut self) -> bool {
        self.0.is_to_count()
    }

    fn read_up_to(&mut self, changed: i64) {
        self.0.read_up_to(changed);
    }
}

#[test]
fn o719_an_action_whose_answer_was_lost_is_done_and_is_in_the_log_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
    record.engine = Box::new(RepeatingEngine(record.engine));
    record.add_logged(&[SourceDefinition::new(name("a"), "https://a.example/")], ("ada", "add"), 1).unwrap();
    for operation in [SourceOperation::Pause, SourceOperation::Forget] {
        record.operate(operation, &[name("a")], ("ada", 2)).unwrap();
    }
    assert_eq!((record.sources().unwrap().len(), record.actions(i64::MAX, 9).unwrap().len()), (0, 3));
    // One that was never there is no success.
    let unknown = record.operate(SourceOperation::Forget, &[name("b")], ("ada", 3)).unwrap_err();
    assert!(matches!(unknown, FleetError::Unknown { .. }), "{unknown}");
}

#[test]
fn o648_a_look_whose_end_was_recorded_without_an_answer_has_ended_on_its_worker() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
    record.add(&[SourceDefinition::new(name("a"), "https://a.example/")], 1).unwrap();
    let worker = FleetWorker { id: 1, name: "w".to_owned(), url: None, began: 1, running: 0, beat: 0 };
    record.register(&worker).unwrap();
    let claim = record.claim(1, (&name("a"), 0), ("https://a.example", 4), 5).unwrap();
    let Claim::Taken(held) = claim else { panic!("it is free") };
    let look = LookSample {
        at: 9,
        exit_code: 0,
        lag: None,
        held: 0,
        bytes: 0,
        pending: 0,
        changed: 0,
        transferred: 0,
    };
    let mut ending = LookEnding {
        name: name("a"),
        hold: held.hold,
        standing: held.standing,
        sample: Some(look),
        alert: None,
        survey: None,
    };
    ending.standing.ended = Some(9);
    record.engine = Box::new(RepeatingEngine(record.engine));
    let ended = record.finish(&ending).unwrap().unwrap();
    assert_eq!((ended.hold.worker, ended.standing.ended), (None, Some(9)));
    assert_eq!(record.looks(&name("a")).unwrap().len(), 1, "it is recorded once");
    // The recorded end is not that of another look.
    ending.standing.ended = Some(10);
    assert!(record.finish(&ending).unwrap().is_none());
}
