//! What a Source tells while it works.
