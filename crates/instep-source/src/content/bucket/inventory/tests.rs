//! Rows of inventories, and inventories that lack something.

use csv::StringRecord;

use super::{Columns, decoded};

const SCHEMA: &str = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag, \
                      IsMultipartUploaded, EncryptionStatus, ChecksumAlgorithm";
const MD5: &str = "900150983cd24fb0d6963f7d28e17f72";

fn row(latest: &str, deleted: &str, multipart: &str, encryption: &str) -> StringRecord {
    let time = "2026-11-23T01:02:03.000Z";
    StringRecord::from(vec![
        "b",
        "a+b%2F%C3%A9",
        "v",
        latest,
        deleted,
        "3",
        time,
        MD5,
        multipart,
        encryption,
        "SHA256",
    ])
}

#[test]
fn a_row_is_an_object_and_its_tag_a_digest_where_that_is_certain() {
    let columns = Columns::named(SCHEMA).unwrap();
    let object = columns.object(&row("true", "false", "false", "SSE-S3")).unwrap().unwrap();
    assert_eq!((object.name.as_str(), object.length), ("a b/\u{e9}", 3));
    assert_eq!((object.etag.as_deref(), object.keeps_sha256), (Some(MD5), Some(true)));
    assert_eq!(object.md5.unwrap()[..3], [0x90, 0x01, 0x50]);
    for (multipart, encryption) in [("true", "SSE-S3"), ("false", "SSE-KMS"), ("false", "SSE-C"), ("", "")] {
        let object = columns.object(&row("true", "false", multipart, encryption)).unwrap().unwrap();
        assert_eq!(object.md5, None, "{multipart} {encryption}");
    }
    assert!(columns.object(&row("false", "false", "false", "SSE-S3")).unwrap().is_none());
    assert!(columns.object(&row("true", "true", "false", "SSE-S3")).unwrap().is_none());
}

#[test]
fn what_an_inventory_lacks_is_named() {
    assert_eq!(Columns::named("Bucket, Key, Size, LastModifiedDate").unwrap_err(), "ETag");
    let columns = Columns::named("Key, Size, LastModifiedDate, ETag").unwrap();
    let object = columns.object(&StringRecord::from(vec!["a", "1", "2026-11-23T01:02:03Z", MD5])).unwrap();
    assert_eq!(object.unwrap().md5, None);
    for wrong in [["a", "x", "2026-11-23T01:02:03Z", ""], ["a", "1", "yesterday", ""], ["%ff", "1", "", ""]] {
        assert!(columns.object(&StringRecord::from(wrong.to_vec())).is_err(), "{wrong:?}");
    }
    assert_eq!(decoded("a%2Bb+c").unwrap(), "a+b c");
}
