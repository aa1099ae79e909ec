//! The schedule: the times at which Sources are due, and the order of due Sources. PURE.

mod pacing;
mod queue;

pub use pacing::{Cadence, LONGEST_PAUSE, PacingRules};
pub(crate) use pacing::{LookVerdict, Pacing};
pub use queue::SourceQueue;

#[cfg(test)]
mod tests;
