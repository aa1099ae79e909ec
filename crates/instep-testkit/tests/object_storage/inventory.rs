//! A Source of objects that finds them without a listing: from an inventory that the service writes, and from events.

use std::{fs, io::Write as _};

use data_encoding::HEXLOWER;
use flate2::{Compression, write::GzEncoder};
use instep_testkit::{Run, S3Server, instep};
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::content::ObjectSource;

/// The columns that S3 writes if everything that is used here is requested.
const SCHEMA: &str = "Bucket, Key, Size, LastModifiedDate, ETag, IsMultipartUploaded, EncryptionStatus";

/// The time of the inventory: after everything that it names was put.
const CREATED: &str = "4000-01-01T00:00:00Z";

/// Writes an inventory as S3 does: a manifest, and files of rows without a header line, in gzip.
fn write_inventory(
    server: &S3Server,
    source: &ObjectSource<'_>,
    folder: &str,
    created: &str,
    files: [&[String]; 2],
) {
    let upload = |name: &str, bytes: &[u8]| {
        let file = source.room.path().join("inventory");
        fs::write(&file, bytes).unwrap();
        server.upload(&file, &format!("{folder}/{name}"));
    };
    let mut listed = Vec::new();
    for (number, rows) in files.into_iter().enumerate() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(rows.join("\n").as_bytes()).unwrap();
        let bytes = gzip.finish().unwrap();
        let name = format!("data/{number}.csv.gz");
        let key = format!("{folder}/{name}");
        listed.push(
            json!({"key": key, "size": bytes.len(), "MD5checksum": HEXLOWER.encode(&Md5::digest(&bytes))}),
        );
        upload(&name, &bytes);
    }
    let created = millis_of(created);
    let manifest = json!({
        "sourceBucket": S3Server::BUCKET, "destinationBucket": "arn:aws:s3:::library", "version": "2016-11-30",
        "creationTimestamp": created.to_string(), "fileFormat": "CSV", "fileSchema": SCHEMA, "files": listed,
    });
    upload("manifest.json", manifest.to_string().as_bytes());
}

fn millis_of(time: &str) -> i64 {
    resourcesync::DateTime::parse(time).unwrap().unix_micros() / 1_000
}

fn row(name: &str, bytes: &str, time: &str) -> String {
    let tag = HEXLOWER.encode(&Md5::digest(bytes.as_bytes()));
    let key = format!("content/{name}").replace(' ', "+");
    let bucket = S3Server::BUCKET;
    format!("\"{bucket}\",\"{key}\",\"{}\",\"{time}\",\"{tag}\",\"false\",\"SSE-S3\"", bytes.len())
}

#[test]
fn an_inventory_stands_for_the_listing_and_its_tags_for_the_bytes() {
    let Some(server) = S3Server::moto() else { return };
    let source = ObjectSource::new(&server);
    source.put("a b.txt", "with a space");
    let time = "2026-01-01T00:00:00.000Z";
    let rows: Vec<String> =
        (0..30).map(|number| row(&format!("d/f{number:02}.txt"), &format!("text {number}"), time)).collect();
    let others = [row("a b.txt", "with a space", time), row("empty", "", time)];
    write_inventory(&server, &source, "inventory/2026-01-01T01-00Z", CREATED, [&rows, &others]);
    let newest = format!("s3://{}/inventory", S3Server::BUCKET);

    // Five requests: the folder, the manifest, two files, and no object.
    let (created, .., gets) = source.publish(&["--hash", "md5", "--inventory", &newest]);
    assert_eq!(created, 32);
    assert!(gets <= 5, "{gets} requests for an inventory");
    let list = source.document("resourcelist.xml");
    assert!(list.contains("http://h/data/a%20b.txt") && !list.contains("a=b.html"), "{list}");
    assert!(list.contains(&format!("md5:{}", HEXLOWER.encode(&Md5::digest(b"text 7")))), "{list}");
    // The same inventory is not read again.
    let (created, updated, deleted, gets) = source.publish(&["--hash", "md5", "--inventory", &newest]);
    assert_eq!((created, updated, deleted), (0, 0, 0));
    assert!(gets <= 3, "{gets} requests for the same inventory");
    // A listing shows the later objects. It states other times than the inventory, so each object is inspected once.
    let (created, updated, deleted, _) = source.publish(&["--hash", "md5"]);
    assert_eq!((created, updated, deleted), (1, 0, 0));

    // An inventory that is older than the known state removes nothing.
    write_inventory(
        &server,
        &source,
        "inventory/2026-01-02T01-00Z",
        "2026-01-01T00:00:00Z",
        [&rows[..1], &[]],
    );
    let (created, updated, deleted, _) = source.publish(&["--hash", "md5", "--inventory", &newest]);
    assert_eq!((created, updated, deleted), (0, 0, 0));
    // A newer inventory does.
    write_inventory(&server, &source, "inventory/2026-01-03T01-00Z", CREATED, [&rows, &others[..1]]);
    let (created, updated, deleted, _) = source.publish(&["--hash", "md5", "--inventory", &newest]);
    assert_eq!((created, updated, deleted), (0, 0, 2));
}

#[test]
fn an_inventory_that_cannot_be_used_is_named_and_takes_nothing_away() {
    let Some(server) = S3Server::s3s() else { return };
    let source = ObjectSource::new(&server);
    source.publish(&[]);
    let manifest = |change: &dyn Fn(&mut Value)| {
        write_inventory(&server, &source, "inventory", CREATED, [&[], &[]]);
        let file = source.room.path().join("inventory");
        let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        change(&mut manifest);
        fs::write(&file, manifest.to_string()).unwrap();
        server.upload(&file, "inventory/manifest.json");
    };
    let place = format!("s3://{}/inventory/manifest.json", S3Server::BUCKET);
    let refused = |said: &str| {
        let run = Run::of(&mut source.command(&["--inventory", &place])).with_code(8);
        assert!(run.stderr.contains(said) && run.stderr.lines().count() == 1, "{said}: {}", run.stderr);
    };
    manifest(&|manifest| manifest["sourceBucket"] = "another".into());
    refused("is one of the bucket another");
    manifest(&|manifest| manifest["fileFormat"] = "ORC".into());
    refused("in the format ORC");
    manifest(&|manifest| manifest["fileSchema"] = "Bucket, Key, Size".into());
    refused("has no column LastModifiedDate");
    manifest(&|manifest| manifest["files"][1]["MD5checksum"] = "0".repeat(32).into());
    refused("the MD5 differs");
    manifest(&|manifest| manifest["files"][1]["key"] = "inventory/gone.csv.gz".into());
    refused("no object inventory/gone.csv.gz");
    server.remove("inventory/manifest.json");
    refused("manifest.json");
    let (created, updated, deleted, _) = source.publish(&[]);
    assert_eq!((created, updated, deleted), (0, 0, 0));
    let mut folder = instep(["publish", "--base-url", "http://h/", "--inventory", &place]);
    let run = Run::of(folder.arg(source.room.path())).with_code(2);
    assert!(run.stderr.contains("replaces the listing of a bucket"), "{}", run.stderr);
}

#[test]
fn events_of_a_bucket_are_changes_that_need_no_listing() {
    let Some(server) = S3Server::moto() else { return };
    let source = ObjectSource::new(&server);
    source.publish(&[]);
    source.put("new one.txt", "new");
    source.put("d/f03.txt", "another text");
    source.remove("d/f04.txt");
    let record = |name: &str, key: &str| {
        let bucket = json!({"name": S3Server::BUCKET});
        json!({"eventName": name, "s3": {"bucket": bucket, "object": {"key": format!("content/{key}")}}})
    };
    let put = "ObjectCreated:Put";
    let lines = [
        json!({"Event": "s3:TestEvent"}),
        json!({"Records": [record(put, "new+one.txt"), record(put, "d/f03.txt")]}),
        json!({"Records": [record("ObjectRemoved:Delete", "d/f04.txt")]}),
        // Events about documents of the Source, about another prefix, and a late one: nothing has changed.
        json!({"Records": [record(put, "resourcesync/resourcelist.xml"), record(put, "d/f05.txt")]}),
        json!({"source": "aws.s3", "detail": {"bucket": {"name": "another"}, "object": {"key": "a"}}}),
    ];
    let state = source.room.path().join("state/.instep");
    let mut command = instep(["change", "--stdin", "--json", "--state", &state.to_string_lossy()]);
    server.configure(&mut command);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = source.room.path().join("events");
    fs::write(&file, text).unwrap();
    let run = Run::of(command.stdin(fs::File::open(&file).unwrap())).with_code(0);
    let summary: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    let counts = ["reported", "refused", "created", "updated", "deleted"].map(|name| summary[name].as_u64());
    assert_eq!(counts, [Some(5), Some(0), Some(1), Some(1), Some(1)], "{summary}");
    // The changes by events stay, and a listing finds no others.
    let (created, updated, deleted, _) = source.publish(&[]);
    assert_eq!((created, updated, deleted), (0, 0, 0));
    let changes = source.document("changelist-000001.xml");
    assert!(
        changes.contains("http://h/data/new%20one.txt") && changes.contains("change=\"deleted\""),
        "{changes}"
    );
}
