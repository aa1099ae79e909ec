//! The exit codes of the program, by name.
//!
//! The state of a copy and the record of a fleet keep the code of each run, so the numbers never change their meaning. The
//! program has a text for each of them.

/// Everything was done.
pub const DONE: u8 = 0;
/// A fault in the program ended the work.
pub const FAILED: u8 = 1;
/// The operator has to change an option or the configuration.
pub const USAGE: u8 = 2;
/// The work was done, except for some resources or documents.
pub const PROBLEMS: u8 = 3;
/// The Source cannot be reached, or is not a ResourceSync Source.
pub const UNREACHABLE: u8 = 4;
/// A document of the Source is invalid.
pub const INVALID: u8 = 5;
/// A guard refused the plan.
pub const REFUSED: u8 = 6;
/// Another run has the copy.
pub const LOCKED: u8 = 7;
/// The disk, the object storage or the state failed.
pub const STORAGE: u8 = 8;
/// A limit on time or bytes was reached.
pub const BUDGET: u8 = 9;
/// The state was written by a newer version.
pub const NEWER_STATE: u8 = 10;
/// An audit found differences.
pub const DIFFERENCES: u8 = 20;
/// The run was ended before it was complete, with any signal.
pub const INTERRUPTED: u8 = 130;
