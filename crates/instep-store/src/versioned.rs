//! Small records in JSON for a later run: each an object that begins with the version of its format. A record of
//! another version is an error and never counts as absent. Old versions are for the callers to read: they ask for the
//! version first.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A record with its version, as it is written.
#[derive(Serialize)]
struct VersionedRecord<'a, T> {
    version: u32,
    #[serde(flatten)]
    record: &'a T,
}

/// The version alone, of a record whose type is not known yet.
#[derive(Deserialize)]
struct RecordVersion {
    version: Option<u64>,
}

/// A fault of a file with a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its content is no record of the version that this program knows.
    #[error("{what}")]
    Content {
        /// The fault.
        what: String,
    },
}

/// Returns the version of a record; `None` if it has none or is not a record.
pub fn version(json: &[u8]) -> Option<u64> {
    serde_json::from_slice::<RecordVersion>(json).ok()?.version
}

/// Parses a record of a version.
///
/// # Errors
/// Returns the fault as text if it is of another version, or not such a record.
pub fn parse<T: DeserializeOwned>(json: &[u8], version: u32) -> Result<T, String> {
    let RecordVersion { version: found } = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    match found {
        Some(found) if found == u64::from(version) => {
            serde_json::from_slice(json).map_err(|error| error.to_string())
        }
        Some(found) => Err(format!("it has version {found}, this program knows {version}")),
        None => Err("it has no version".to_owned()),
    }
}

/// Returns a record with its version as text.
///
/// # Errors
/// If JSON cannot hold the record, such as a map whose keys are not text.
pub fn to_text<T: Serialize>(version: u32, record: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(&VersionedRecord { version, record })
}

/// Reads the record in a file; `None` if there is no file.
///
/// # Errors
/// If the file cannot be read, or has no record of this version.
pub fn read_file<T: DeserializeOwned>(path: &Path, version: u32) -> Result<Option<T>, RecordFileError> {
    match fs::read(path) {
        // A file instead of the folder is reported when the folder is opened.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        json => parse(&json?, version).map(Some).map_err(|what| RecordFileError::Content { what }),
    }
}

/// Writes a record into a file of a folder, in place of an earlier one: after a crash the file has one of the two.
///
/// # Errors
/// If the folder cannot be written.
pub fn write_file<T: Serialize>(folder: &Path, name: &str, version: u32, record: &T) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(to_text(version, record)?.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name)).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Place {
        url: String,
    }

    #[test]
    fn a_record_is_read_back_and_begins_with_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("place.json");
        let place = Place { url: "postgres://db/a".to_owned() };
        assert_eq!(read_file::<Place>(&path, 1).unwrap(), None);
        write_file(folder.path(), "place.json", 1, &place).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), r#"{"version":1,"url":"postgres://db/a"}"#);
        assert_eq!(read_file(&path, 1).unwrap(), Some(place));
    }

    #[test]
    fn a_record_of_another_version_is_an_error_and_not_absent() {
        let fault = |json: &str| parse::<Place>(json.as_bytes(), 1).unwrap_err();
        assert_eq!(fault(r#"{"version":2,"url":"a"}"#), "it has version 2, this program knows 1");
        assert_eq!(fault(r#"{"url":"a"}"#), "it has no version");
        assert!(fault(r#"{"version":1}"#).contains("url"));
        assert_eq!((version(br#"{"version":7}"#), version(b"postgres")), (Some(7), None));
    }
}
