//! What the Source holds: real folders, scanned into a catalogue.

mod catalogue;
mod folder;
mod history;
mod interference;
mod scan;
