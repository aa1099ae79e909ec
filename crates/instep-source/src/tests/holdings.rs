//! The content of a Source: real folders, scanned into a catalogue.

mod arrangement;
mod catalogue;
mod folder;
mod history;
mod interference;
mod manifest;
mod scan;
