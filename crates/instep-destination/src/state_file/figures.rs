//! The figures of a state that was exported or imported.

use crate::state::StateRecord;

/// The figures of a state that was exported or imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateFigures {
    /// The number of resources that are held.
    pub held: u64,
    /// The number of resources that are pending.
    pub owed: u64,
    /// The number of all records.
    pub records: u64,
}

impl StateFigures {
    pub(super) fn count(&mut self, record: &StateRecord) {
        self.records += 1;
        match record {
            StateRecord::Held { .. } => self.held += 1,
            StateRecord::Owed { .. } => self.owed += 1,
            _ => {}
        }
    }
}
