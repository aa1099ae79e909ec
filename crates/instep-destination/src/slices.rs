//! PURE: large plans that several workers carry out, a slice at a time: which slices are cut, how many of them a worker
//! claims, what of them is done, and which workers are dead.
//!
//! The run that has the copy reads the Source and makes the plan, as ever. A large plan it writes down in slices of 256
//! actions of one origin (`state/slices.rs`), seals it, and claims slices like every other worker with a share of it.
//! Each worker fetches what its slices ask for and commits groups of its own: the bytes first, then one transaction with the
//! rows, what is pending, how far the slices are done, and what that counts for. The transaction begins with the number of
//! the group in the row of the share, which answers for commits whose answer was lost. When no slice is left the run that
//! has the copy goes on where it would have gone on alone: it looks again at what failed, deletes, and moves the checkpoint.
//!
//! A share counts as dead by the rule of all workers: its beat rests for 20 s by the clock of whoever looks, while the
//! database answers. It is the run that has the copy that looks, since only that run waits for the slices, and ending a
//! share frees its slices in one transaction. A run that is dead itself is replaced by another one, whose right to the copy
//! removes the plan: the next plan is made of what is not held yet. Until then the others go on with their slices, since what
//! they commit is true whoever concludes.

mod book;
mod cut;
mod watch;

pub(crate) use book::{SliceBook, SlicePlace};
pub(crate) use cut::{CutSlice, SliceCutter};
pub(crate) use watch::BeatWatch;

#[cfg(test)]
mod tests;
