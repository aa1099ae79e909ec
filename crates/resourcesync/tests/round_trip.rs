//! Each example of the standard reads, writes and reads again to an equal value.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::PathBuf};

use resourcesync::{DocumentReader, DocumentWriter, Entry, Header, ReadError, ReadOptions, WriteOptions};

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../instep-testkit/data").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn read(bytes: &[u8]) -> Result<(Header, Vec<Entry>), ReadError> {
    let mut reader = DocumentReader::new(bytes, ReadOptions::new())?;
    let entries = reader.entries().collect::<Result<_, _>>()?;
    Ok((reader.header().clone(), entries))
}

#[test]
fn every_example_reads_writes_and_reads_again_to_an_equal_value() {
    for folder in ["v1.1", "v1.0", "v0.9"] {
        let files = examples(folder);
        assert!(files.len() >= 28, "{folder}");
        for file in files {
            let document = read(&fs::read(&file).unwrap()).unwrap();
            let mut writer = DocumentWriter::new(Vec::new(), &document.0, WriteOptions::unchecked()).unwrap();
            for entry in &document.1 {
                writer.write_entry(entry).unwrap();
            }
            let again = read(&writer.finish().unwrap()).unwrap();
            assert_eq!(document, again, "{}", file.display());
        }
    }
}
