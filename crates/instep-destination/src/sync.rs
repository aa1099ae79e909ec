//! The story: baseline, incremental, follow.
