//! Reads what each version wrote.

use std::{fmt::Debug, fs, path::Path};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    ALGORITHMS, ARCHIVE, CONTENT, FORMER_BASE_URLS, OPENED_WITH, OUTBOX, PATCHED, PLACING, PUBLISHED,
    RecordKind, SETS, SHARED, STATES_KEPT, STATES_ROOM, VERSIONED,
};
use crate::{
    Error,
    catalogue::{Catalogue, CatalogueError},
};

fn golden(name: &str, version: u32) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/records");
    let name = name.trim_end_matches(':').replace("present states kept", "states-kept");
    fs::read_to_string(folder.join(format!("{name}.{version}.json"))).unwrap()
}

/// Reads each version that was ever written, and writes the newest one as it was written before.
fn is_read_and_written<T: Serialize + DeserializeOwned + Debug + PartialEq>(record: &RecordKind<T>) {
    for version in 1..=record.version {
        let text = golden(record.name, version);
        let read =
            record.decode(text.as_bytes()).unwrap_or_else(|what| panic!("{} {version}: {what}", record.name));
        let written = record.write(&read).1.unwrap();
        assert_eq!(record.decode(&written).unwrap(), read);
        if version == record.version {
            assert_eq!(String::from_utf8(written).unwrap(), text.trim_end(), "{}", record.name);
        }
    }
}

#[test]
fn each_version_of_each_record_is_read_for_ever() {
    is_read_and_written(&PUBLISHED);
    is_read_and_written(&PLACING);
    is_read_and_written(&OUTBOX);
    is_read_and_written(&ARCHIVE);
    is_read_and_written(&OPENED_WITH);
    is_read_and_written(&SETS);
    is_read_and_written(&CONTENT);
    is_read_and_written(&FORMER_BASE_URLS);
    is_read_and_written(&ALGORITHMS);
    is_read_and_written(&VERSIONED);
    is_read_and_written(&PATCHED);
    is_read_and_written(&STATES_KEPT);
    is_read_and_written(&STATES_ROOM);
    is_read_and_written(&SHARED);
}

#[test]
fn a_record_that_cannot_be_read_is_an_error_with_file_and_remedy_and_never_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalogue.db");
    let catalogue = Catalogue::open(&path).unwrap();
    assert!(PUBLISHED.read(&catalogue).unwrap().is_none());
    let bad: [&[u8]; 5] = [
        b"",
        b"{}",
        br#"{"version":1,"record":[]}"#,
        br#"{"version":1,"record":{}}"#,
        br#"{"version":2,"record":{}}"#,
    ];
    for bytes in bad {
        catalogue.set_meta(vec![("published".to_owned(), Some(bytes.to_vec()))]).unwrap();
        let refused = PUBLISHED.read(&catalogue.snapshot().unwrap()).unwrap_err();
        assert!(matches!(refused, CatalogueError::Record { .. }), "{refused}");
        let text = instep_store::error_chain(&Error::from(refused));
        assert!(text.contains(&path.display().to_string()) && text.contains("backup"), "{text}");
    }
}
