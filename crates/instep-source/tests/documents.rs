//! The folder of the documents: which files are added, kept and removed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

#[path = "documents/archived.rs"]
mod archived;
#[path = "documents/foreign.rs"]
mod foreign;
#[path = "documents/leftovers.rs"]
mod leftovers;
#[path = "documents/restored.rs"]
mod restored;

use std::{fs, path::Path};

use instep_source::PublishOptions;
use resourcesync::{DocumentReader, Entry, Header, ReadOptions};

const BASE: &str = "http://example.org/";

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, bytes)| write(folder.path(), name, bytes));
    folder
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn options(folder: &Path) -> PublishOptions {
    PublishOptions::new(folder, BASE)
}

/// Reads a document by its name in the folder of documents, or by its URI.
fn read(folder: &Path, name: &str) -> (Header, Vec<Entry>) {
    let name = name.rsplit('/').next().unwrap();
    let bytes = fs::read(folder.join("resourcesync").join(name)).unwrap();
    let mut reader = DocumentReader::new(&bytes[..], ReadOptions::new()).unwrap();
    let header = reader.header().clone();
    let entries = reader.entries().collect::<Result<_, _>>().unwrap();
    (header, entries)
}
