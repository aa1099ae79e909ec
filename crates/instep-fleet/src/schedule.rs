//! When a Source is due, and which of those that are due is next. PURE.

mod pacing;
mod queue;

pub use pacing::{Cadence, PacingRules};
pub(crate) use pacing::{LookVerdict, Pacing};
pub use queue::SourceQueue;

#[cfg(test)]
mod tests;
