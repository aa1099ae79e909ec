//! Documents in object storage: the program with two S3 servers of other projects, one that checks signatures and one
//! that does not.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "object_storage/as_of.rs"]
mod as_of;
#[path = "object_storage/content.rs"]
mod content;
#[path = "object_storage/copies.rs"]
mod copies;
#[path = "object_storage/exports.rs"]
mod exports;
#[path = "object_storage/inventory.rs"]
mod inventory;
#[path = "object_storage/killed.rs"]
mod killed;
#[path = "object_storage/names.rs"]
mod names;
#[path = "object_storage/retries.rs"]
mod retries;
#[path = "object_storage/seats.rs"]
mod seats;
#[path = "object_storage/slices.rs"]
mod slices;
#[path = "object_storage/workers.rs"]
mod workers;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{Run, S3Server, instep, peers};
use tempfile::TempDir;

/// The bucket of each server.
const BUCKET: &str = S3Server::BUCKET;

/// A reader that shares no code with us: from the Source Description on, it fetches every document that another one
/// leads to, and every resource of the Resource List, whose length and digest must be as listed.
const REFEREE: &str = r#"
import hashlib, sys, urllib.request, xml.etree.ElementTree as ET
base, SM, RS = sys.argv[1], "{http://www.sitemaps.org/schemas/sitemap/0.9}", "{http://www.openarchives.org/rs/terms/}"
get = lambda uri: urllib.request.urlopen(uri).read()
seen, todo, resources = set(), [base + ".well-known/resourcesync"], 0
while todo:
    uri = todo.pop()
    if uri in seen: continue
    seen.add(uri)
    body = get(uri)
    if not (uri.endswith(".xml") or uri.endswith("resourcesync")): continue
    root = ET.fromstring(body)
    todo += [ln.get("href") for ln in root.iter(RS + "ln") if ln.get("href").startswith(base)]
    for entry in list(root.iter(SM + "url")) + list(root.iter(SM + "sitemap")):
        loc, md = entry.find(SM + "loc").text, entry.find(RS + "md")
        if loc.startswith(base + "resourcesync/"): todo.append(loc)
        elif md is not None and md.get("hash") and not md.get("change"):
            data, resources = get(loc), resources + 1
            assert len(data) == int(md.get("length")), loc
            assert "sha-256:" + hashlib.sha256(data).hexdigest() in md.get("hash").split(), loc
print(len(seen), resources)
"#;

/// A folder that is published to a bucket.
struct Published {
    place: TempDir,
    files: PathBuf,
}

impl Published {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let files = place.path().join("files");
        fs::create_dir(&files).unwrap();
        (0..5).for_each(|number| fs::write(files.join(format!("f{number}.txt")), "one").unwrap());
        Self { place, files }
    }

    fn command(&self, server: &S3Server, options: &[&str]) -> Command {
        let mut command = instep(["publish"]);
        command.arg(&self.files).args([
            "--base-url",
            &server.base_url(),
            "--out",
            &format!("s3://{BUCKET}/docs"),
        ]);
        command.args(options);
        server.configure(&mut command);
        command
    }

    fn publish(&self, server: &S3Server, options: &[&str]) -> Run {
        Run::of(&mut self.command(server, options)).with_code(0)
    }

    fn documents(&self) -> BTreeMap<String, Vec<u8>> {
        let folder = self.files.join(".instep/documents");
        let files = walkdir::WalkDir::new(&folder).into_iter().map(Result::unwrap);
        let files = files.filter(|entry| entry.file_type().is_file());
        let name = |path: &Path| path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        files.map(|file| (name(file.path()), fs::read(file.path()).unwrap())).collect()
    }

    fn assert_delivered(&self, server: &S3Server) {
        let (made, delivered) = (self.documents(), server.objects(self.place.path(), "docs/"));
        let delivered: BTreeMap<_, _> =
            delivered.into_iter().filter(|(name, _)| !name.starts_with('f')).collect();
        assert_eq!(made.keys().collect::<Vec<_>>(), delivered.keys().collect::<Vec<_>>());
        assert!(made == delivered, "bytes differ");
    }
}

/// Asserts the contract of a delivery with a server.
fn is_delivered_to(server: &S3Server) {
    let published = Published::new();
    let noise: Vec<u8> = (0..9_u32 << 18).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(published.files.join("large.png"), noise).unwrap();
    let first = published.publish(server, &["--dump", "always"]);
    assert!(first.stdout.contains(&format!("Delivered to s3://{BUCKET}/docs")), "{}", first.stdout);
    published.assert_delivered(server);

    fs::write(published.files.join("f1.txt"), "another").unwrap();
    fs::remove_file(published.files.join("f2.txt")).unwrap();
    published.publish(server, &["--dump", "always"]);
    published.assert_delivered(server);
    let again = published.publish(server, &["--dump", "always"]);
    assert!(again.stdout.contains("Nothing new"), "{}", again.stdout);

    // Another Source finds these documents in its way, and leaves them.
    let other = Published::new();
    let refused = Run::of(&mut other.command(server, &[])).with_code(6);
    assert!(refused.stderr.contains("did not write"), "{}", refused.stderr);
    published.assert_delivered(server);
}

#[test]
fn documents_are_delivered_to_moto() {
    let Some(server) = S3Server::moto() else { return };
    is_delivered_to(&server);
}

#[test]
fn documents_are_delivered_to_s3s() {
    let Some(server) = S3Server::s3s() else { return };
    is_delivered_to(&server);
}

#[test]
fn o182_documents_that_a_bucket_has_lost_are_delivered_again_and_no_others() {
    let Some(server) = S3Server::moto() else { return };
    let published = Published::new();
    published.publish(&server, &[]);
    server.remove("docs/resourcesync/changelist.xml");
    server.remove("docs/.well-known/resourcesync");
    let again = published.publish(&server, &[]);
    let delivered = format!("Delivered to s3://{BUCKET}/docs: 2 documents");
    assert!(again.stdout.contains(&delivered), "{}", again.stdout);
    assert!(again.stderr.contains("lacks 2 of the documents"), "{}", again.stderr);
    published.assert_delivered(&server);
    let settled = published.publish(&server, &[]);
    assert!(!settled.stdout.contains("Delivered to"), "{}", settled.stdout);
}

#[test]
fn a_bucket_that_is_missing_is_named() {
    let Some(server) = S3Server::moto() else { return };
    let published = Published::new();
    let nowhere = format!("s3://no-such-bucket-{}/docs", std::process::id());
    let mut command = instep(["publish"]);
    command.arg(&published.files).args(["--base-url", &server.base_url(), "--out", &nowhere]);
    server.configure(&mut command);
    let failed = Run::of(&mut command).with_code(8);
    assert!(failed.stderr.contains("there is no bucket no-such-bucket"), "{}", failed.stderr);
    assert!(failed.stderr.contains("The documents are made; 0 of"), "{}", failed.stderr);
}

#[test]
fn wrong_credentials_are_named_and_nothing_of_them_is_shown() {
    let Some(server) = S3Server::s3s() else { return };
    let published = Published::new();
    for (variable, value) in [("AWS_ACCESS_KEY_ID", "untold-key"), ("AWS_SECRET_ACCESS_KEY", "untold-secret")]
    {
        let failed = Run::of(published.command(&server, &[]).env(variable, value)).with_code(8);
        assert!(failed.stderr.contains(&format!("check {variable}")), "{}", failed.stderr);
        assert!(!format!("{}{}", failed.stdout, failed.stderr).contains("untold"), "{}", failed.stderr);
    }
    let catalogue = fs::read(published.files.join(".instep/catalogue.db")).unwrap();
    assert!(!catalogue.windows(6).any(|bytes| bytes == b"untold"), "credentials in the catalogue");
    published.publish(&server, &[]);
    published.assert_delivered(&server);
}

#[test]
fn what_is_in_a_bucket_is_copied_from_there() {
    let Some(server) = S3Server::s3s() else { return };
    let Some([python]) = peers::find(["python3"]) else { return };
    let published = Published::new();
    published.publish(&server, &[]);
    let upload = |name: &str| server.upload(&published.files.join(name), &format!("docs/{name}"));
    (0..5).for_each(|number| upload(&format!("f{number}.txt")));
    let copy = published.place.path().join("copy");
    let sync = || Run::of(instep(["sync", &server.base_url()]).arg(&copy)).with_code(0);
    let first = sync();
    assert!(first.stdout.contains("In step"), "{}", first.stdout);

    fs::write(published.files.join("f1.txt"), "another text").unwrap();
    upload("f1.txt");
    published.publish(&server, &[]);
    let _ = sync();
    assert_eq!(fs::read_to_string(copy.join("f1.txt")).unwrap(), "another text");
    let referee = Run::of(Command::new(python).args(["-c", REFEREE, &server.base_url()])).with_code(0);
    let counts: Vec<u32> = referee.stdout.split_whitespace().map(|count| count.parse().unwrap()).collect();
    assert!(counts[0] >= 6 && counts[1] == 5, "{}", referee.stdout);
}

#[test]
fn a_server_delivers_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let refused = Run::of(instep(["serve", "--out", "s3://bucket/docs"]).arg(folder.path())).with_code(2);
    assert!(refused.stderr.contains("instep publish --out s3://"), "{}", refused.stderr);
    let wrong = instep(["publish", "--base-url", "http://example.org/", "--out", "s3://"])
        .arg(folder.path())
        .output();
    assert_eq!(wrong.unwrap().status.code(), Some(2));
}
