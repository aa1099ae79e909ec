//! A place for records, and the values that the tests keep there.

use crate::{
    FleetError, FleetPlace, FleetRecord, FleetWorker, SourceDefinition, SourceName, SourceOperation,
};

/// A place for the record of a fleet; its folder goes with this value.
pub(super) struct TestFleet {
    pub(super) place: FleetPlace,
    _folder: tempfile::TempDir,
}

impl TestFleet {
    pub(super) fn with_state(state: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { place: FleetPlace::in_folder(folder.path()).with_state(state), _folder: folder }
    }

    pub(super) fn open(&self) -> FleetRecord {
        FleetRecord::open(&self.place).unwrap()
    }
}

/// Carries out an action of an operator.
pub(super) fn operate(
    record: &mut FleetRecord,
    operation: SourceOperation,
    of: &str,
) -> Result<(), FleetError> {
    record.operate(operation, &[name(of)], ("ada", 1))
}

pub(super) fn name(text: &str) -> SourceName {
    text.parse().unwrap()
}

pub(super) fn source(text: &str) -> SourceDefinition {
    SourceDefinition::new(name(text), format!("https://{text}.example/"))
}

pub(super) fn worker(id: i64) -> FleetWorker {
    FleetWorker { id, name: format!("worker {id}"), url: None, began: id, running: 0, beat: 0 }
}
