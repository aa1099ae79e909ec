//! Tests of several rooms together, from within: the content that is scanned into a catalogue, its history, batches.

#[cfg(feature = "serve")]
mod batches;
mod golden;
mod holdings;
