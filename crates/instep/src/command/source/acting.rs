//! The operator and the time of an action, as the audit log of a fleet records them.

use instep_destination::now;

/// Returns the name of the operator at the command line: `uid` and the number of the user.
pub(super) fn operator() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

/// Returns the current time, in seconds since 1970.
pub(super) fn seconds() -> i64 {
    now().unix_micros().div_euclid(1_000_000)
}
