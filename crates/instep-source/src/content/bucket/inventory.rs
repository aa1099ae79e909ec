//! An inventory of a bucket that the service has written: a manifest, and CSV files with the objects at that time.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    ops::ControlFlow,
};

use csv::StringRecord;
use flate2::read::MultiGzDecoder;
use instep_objects::{Bucket, ListedObject, ObjectPlace, md5_of_etag};
use percent_encoding::percent_decode_str;
use resourcesync::{Algorithm, DateTime, Digest, Digests, Hasher};
use serde::Deserialize;

use super::digests::to_file;
use crate::error::StorageFailure;

/// The suffix of the names of manifests.
const MANIFEST: &str = "manifest.json";

/// The most bytes of a manifest: it names each file of the inventory.
const MANIFEST_BYTES: u64 = 64 << 20;

/// An inventory of a bucket.
#[derive(Debug)]
pub(super) struct BucketInventory {
    /// The bucket that the inventory is kept in, from its root on.
    kept_in: Bucket,
    /// The key of its manifest.
    name: String,
    manifest: InventoryManifest,
    /// Microseconds since 1970 at which the service began to write it.
    pub(super) created: i64,
    columns: Columns,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InventoryManifest {
    source_bucket: String,
    creation_timestamp: String,
    file_format: String,
    file_schema: String,
    files: Vec<InventoryFile>,
}

#[derive(Debug, Deserialize)]
struct InventoryFile {
    key: String,
    #[serde(rename = "MD5checksum")]
    md5: Option<String>,
}

/// The places of the columns in a row.
#[derive(Debug)]
struct Columns {
    key: usize,
    length: usize,
    modified: usize,
    etag: usize,
    is_latest: Option<usize>,
    is_delete_marker: Option<usize>,
    is_multipart: Option<usize>,
    encryption: Option<usize>,
    checksum: Option<usize>,
}

impl BucketInventory {
    /// Opens an inventory: by its manifest, or by a folder, of which the newest manifest is used.
    ///
    /// # Errors
    /// If it is not an inventory of the bucket, or storage fails.
    pub(super) fn open(place: &ObjectPlace, of: &ObjectPlace) -> io::Result<Self> {
        let wrong = |what: String| StorageFailure::at(place, format!("the inventory {what}"));
        let kept_in = place.bucket_itself();
        let bucket = Bucket::open(&kept_in).map_err(|error| StorageFailure::at(place, error))?;
        let name = if place.prefix().ends_with(MANIFEST) {
            place.prefix().to_owned()
        } else {
            newest(&bucket, place)?.ok_or_else(|| wrong(format!("has no {MANIFEST}")))?
        };
        let text = bucket.begin(&name, MANIFEST_BYTES).map_err(|error| StorageFailure::at(place, error))?;
        let manifest: InventoryManifest = serde_json::from_slice(&text.bytes)
            .map_err(|error| wrong(format!("has a manifest that cannot be read: {error}")))?;
        if manifest.source_bucket != of.bucket() {
            return Err(wrong(format!(
                "is one of the bucket {}, not of {}",
                manifest.source_bucket,
                of.bucket()
            )));
        }
        if manifest.file_format != "CSV" {
            return Err(wrong(format!(
                "is in the format {}; have the service write CSV",
                manifest.file_format
            )));
        }
        let created =
            manifest.creation_timestamp.parse::<i64>().ok().and_then(|millis| millis.checked_mul(1_000));
        let created = created.ok_or_else(|| wrong("has no time in its manifest".to_owned()))?;
        let columns = Columns::named(&manifest.file_schema).map_err(|column| {
            wrong(format!("has no column {column}; have the service write Size, LastModifiedDate and ETag"))
        })?;
        Ok(Self { kept_in: bucket, name, manifest, created, columns })
    }

    /// Returns the identity of the inventory and the digests read from it: the same identity again means nothing new.
    pub(super) fn identity(&self, hash: &[Algorithm]) -> String {
        let hash: Vec<&str> = hash.iter().map(Algorithm::as_str).collect();
        format!("{} {} {}", self.name, self.created, hash.join(","))
    }

    /// Passes the objects below the prefix of a place to `each` until it breaks, in no order.
    ///
    /// # Errors
    /// If a file is missing, damaged, or another one than the manifest names.
    pub(super) fn list(
        &self,
        place: &ObjectPlace,
        each: &mut (dyn FnMut(ListedObject) -> ControlFlow<()> + Send),
    ) -> io::Result<()> {
        let below = if place.prefix().is_empty() { String::new() } else { format!("{}/", place.prefix()) };
        for file in &self.manifest.files {
            let wrong = |what: String| {
                StorageFailure::at(self.kept_in.place(), format!("the inventory file {} {what}", file.key))
            };
            let bytes = to_file(&self.kept_in, &file.key);
            let mut bytes = bytes.map_err(|error| StorageFailure::at(self.kept_in.place(), error))??;
            // Checked before the first row, so that nothing is taken from a file that is damaged at its end.
            let expected = file.md5.as_deref().map(md5_of_etag);
            let found = md5_of(&mut bytes)?;
            let found = found.get(&Algorithm::Md5).and_then(Digest::bytes);
            if expected.is_some_and(|expected| expected.as_ref().map(|bytes| &bytes[..]) != found) {
                return Err(wrong("does not match its manifest: the MD5 differs".to_owned()));
            }
            let mut rows = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(MultiGzDecoder::new(io::BufReader::new(bytes)));
            let mut row = StringRecord::new();
            loop {
                if !rows.read_record(&mut row).map_err(|error| wrong(format!("cannot be read: {error}")))? {
                    break;
                }
                let line = row.position().map_or(0, csv::Position::line);
                let object = self.columns.object(&row);
                let object = object.map_err(|what| wrong(format!("has a wrong line {line}: {what}")))?;
                let Some(mut object) = object else { continue };
                let Some(name) = object.name.strip_prefix(&below) else { continue };
                object.name = name.to_owned();
                if each(object).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Returns the name of the newest manifest below a place: each lies in a folder that is named by its time.
fn newest(bucket: &Bucket, place: &ObjectPlace) -> io::Result<Option<String>> {
    // If two were put at the same time, the name decides.
    let mut newest: Option<(i64, String)> = None;
    let listed = bucket.list_below(place.prefix(), &mut |object| {
        if object.name.rsplit('/').next() == Some(MANIFEST) {
            newest = newest.take().max(Some((object.modified, object.name)));
        }
        ControlFlow::Continue(())
    });
    listed.map_err(|error| StorageFailure::at(place, error))?;
    Ok(newest.map(|(_, name)| name))
}

/// Returns the MD5 of a file, and goes back to its start.
fn md5_of(file: &mut File) -> io::Result<Digests> {
    let mut hasher = Hasher::new(&[Algorithm::Md5]);
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            break;
        }
        hasher.update(&piece[..length]);
    }
    file.rewind()?;
    Ok(hasher.finish())
}

impl Columns {
    /// Finds the columns in the schema of a manifest.
    ///
    /// # Errors
    /// The name of one that is missing.
    fn named(schema: &str) -> Result<Self, &'static str> {
        let names: Vec<&str> = schema.split(',').map(str::trim).collect();
        let find = |name| names.iter().position(|known| *known == name);
        let need = |name| find(name).ok_or(name);
        Ok(Self {
            key: need("Key")?,
            length: need("Size")?,
            modified: need("LastModifiedDate")?,
            etag: need("ETag")?,
            is_latest: find("IsLatest"),
            is_delete_marker: find("IsDeleteMarker"),
            is_multipart: find("IsMultipartUploaded"),
            encryption: find("EncryptionStatus"),
            checksum: find("ChecksumAlgorithm"),
        })
    }

    /// Reads a row; `None` for an old version and for a deletion marker.
    ///
    /// # Errors
    /// A sentence that describes the fault.
    fn object(&self, row: &StringRecord) -> Result<Option<ListedObject>, String> {
        let value = |column: usize| row.get(column).unwrap_or_default();
        let maybe = |column: Option<usize>| column.and_then(|column| row.get(column));
        if maybe(self.is_latest) == Some("false") || maybe(self.is_delete_marker) == Some("true") {
            return Ok(None);
        }
        let (key, length, modified) = (value(self.key), value(self.length), value(self.modified));
        let length = length.parse().map_err(|_| format!("{length:?} is not a size"))?;
        let modified = DateTime::parse(modified).map_err(|error| format!("{modified:?}: {error}"))?;
        let etag = value(self.etag).trim_matches('"');
        // Without the column, the tag may be that of parts, or of an encrypted object.
        let is_digest = maybe(self.is_multipart) == Some("false")
            && matches!(maybe(self.encryption), Some("NOT-SSE" | "SSE-S3"));
        Ok(Some(ListedObject {
            name: decoded(key)?,
            length,
            etag: Some(etag.to_owned()).filter(|etag| !etag.is_empty()),
            modified: modified.unix_micros(),
            keeps_sha256: maybe(self.checksum).map(|known| known.contains("SHA256")),
            md5: is_digest.then(|| md5_of_etag(etag)).flatten(),
        }))
    }
}

/// Returns a key, which is encoded as in forms.
fn decoded(key: &str) -> Result<String, String> {
    let spaced = key.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(|key| key.into_owned()).map_err(|_| format!("the key {key:?} is not UTF-8"))
}

#[cfg(test)]
mod tests;
