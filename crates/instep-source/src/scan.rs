//! Content against catalogue: observed changes.
