//! Where documents go: staged, synced, renamed.
