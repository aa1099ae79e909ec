//! The time that the receivers of changes have at the end of a run.

use std::time::Duration;

/// The time that a command or a webhook has left after the run was asked to end. Changes that it has not taken are
/// delivered again by the next run.
pub(super) const GRACE: Duration = Duration::from_secs(5);
