//! The operator at the command line and the time, for the audit log of a fleet.

use instep_destination::now;

/// The name of the user of the command line, for the audit log.
pub(super) fn operator() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

/// The time, in seconds since 1970.
pub(super) fn seconds() -> i64 {
    now().unix_micros().div_euclid(1_000_000)
}
