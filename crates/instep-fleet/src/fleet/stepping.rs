//! The end of a step of the loop that keeps a fleet current, and the sentences about the record that come of it.

use crate::FleetError;

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepEnd {
    /// The process is to end.
    Shutdown,
    /// Something may have to begin. The record may not have been used.
    Woken,
    /// The record was read, and everything that was to be recorded was written.
    Read,
}

/// An outage of the record, as the operator was told last.
#[derive(Debug, Default)]
pub(super) struct RecordOutage {
    fault: Option<String>,
}

impl RecordOutage {
    /// Returns a sentence for the operator if the record cannot be used any more, or can be again.
    pub(super) fn news(&mut self, step: &Result<StepEnd, FleetError>) -> Option<String> {
        match step {
            Err(error) if error.may_pass() && self.fault.is_none() => {
                let fault = instep_store::error_chain(error);
                let news = format!("Waiting for the record of the fleet: {fault}");
                self.fault = Some(fault);
                Some(news)
            }
            // Announcements and visitors of the API wake the loop too, also while the record is away.
            Ok(StepEnd::Read) if self.fault.is_some() => {
                self.fault = None;
                Some("The record of the fleet answers again".to_owned())
            }
            _ => None,
        }
    }

    /// Returns the fault for which the record cannot be used; `None` if it can be.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn o940_a_record_that_was_not_read_does_not_count_as_one_that_answers_again() {
        let mut outage = RecordOutage::default();
        let full = || {
            let source = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None);
            Err(FleetError::Record { path: "fleet.sqlite".into(), source })
        };
        assert_eq!(outage.news(&Ok(StepEnd::Read)), None);
        assert!(
            outage.news(&full()).unwrap().starts_with("Waiting for the record of the fleet: Cannot use ")
        );
        assert_eq!([outage.news(&Ok(StepEnd::Woken)), outage.news(&full())], [None, None]);
        assert_eq!(outage.news(&Ok(StepEnd::Read)).unwrap(), "The record of the fleet answers again");
        assert_eq!(outage.news(&Ok(StepEnd::Read)), None);
    }
}
