//! PURE: held state, remote entries, checkpoint and policy to a plan.

mod strategy;

pub use strategy::Strategy;
