//! What a run did.
