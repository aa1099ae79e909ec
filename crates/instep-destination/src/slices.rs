//! PURE: large plans that several workers carry out, a slice at a time: how slices are cut, how many of them a worker
//! claims, their progress, and which workers are dead. Rows and statements are in `state/`.
//!
//! The run that has the copy reads the Source and makes the plan as usual. It writes a large plan as slices of 256
//! actions of one origin (`state/slices.rs`), seals it, and claims slices like every other worker with a share of it.
//! Each worker fetches the resources of its slices and commits its own groups: the bytes first, then one transaction
//! with the rows, pending retries, the progress of the slices, and their counts. The transaction begins with the
//! number of the group in the row of the share, which resolves commits whose answer was lost. When no slice is left
//! the run that has the copy continues as if it were alone: it tries failed resources again, deletes, and moves the
//! checkpoint.
//!
//! A share counts as dead by the rule of all workers: its heartbeat has not changed for some time, here 10 s, by the
//! clock of the observer, while the database answers. The observer is the run that has the copy, since only that run
//! waits for the slices, and ending a share frees its slices in one transaction. A dead run is replaced by another one,
//! which removes the plan when it takes the copy: the next plan has only resources that are not held yet. Until then
//! the other workers continue with their slices, because their commits are correct for any later run.
//!
//! Two workers must never commit names at the same time of which one is a file and the other its folder: such
//! resources stay in the plan of the run that shares it, and come last. A run that takes the copy over unseals the
//! plan, waits a few seconds for the helping workers, which begin nothing more and commit what they have, and removes
//! the plan with all shares before it reads anything.

mod book;
mod cut;
mod watch;

pub(crate) use book::{SliceBook, SlicePlace};
pub(crate) use cut::{CutSlice, SliceCutter};
pub(crate) use watch::BeatWatch;

#[cfg(test)]
mod tests;
