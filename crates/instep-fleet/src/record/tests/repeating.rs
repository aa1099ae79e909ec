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
