//! The content of a Source: real folders, scanned into a catalogue.

#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

mod catalogue;
mod folder;
mod history;
mod interference;
mod manifest;
mod scan;
