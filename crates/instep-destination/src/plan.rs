//! PURE: held state, remote entries, checkpoint and policy to a plan.
