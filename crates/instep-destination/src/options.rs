//! What the operator decides.
