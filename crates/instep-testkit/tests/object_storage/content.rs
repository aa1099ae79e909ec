//! Sources whose resources are objects, with both servers: a listing is enough to find the changes.

use std::{fs, path::Path, process::Command};

use instep_testkit::{Run, S3Server, instep};
use tempfile::TempDir;

use super::killed::RequestCounter;

/// A Source of the objects below a prefix.
pub(crate) struct ObjectSource<'s> {
    server: &'s S3Server,
    pub(crate) room: TempDir,
}

impl<'s> ObjectSource<'s> {
    pub(crate) fn new(server: &'s S3Server) -> Self {
        let source = Self { server, room: tempfile::tempdir().unwrap() };
        (0..30).for_each(|number| source.put(&format!("d/f{number:02}.txt"), &format!("text {number}")));
        source.put("a=b.html", "<p>");
        source.put(".hidden", "no resource");
        source.put("empty", "");
        source
    }

    pub(crate) fn put(&self, name: &str, bytes: &str) {
        let file = self.room.path().join("upload");
        fs::write(&file, bytes).unwrap();
        self.server.upload(&file, &format!("content/{name}"));
    }

    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let place = format!("s3://{}/content", S3Server::BUCKET);
        let mut command = instep(["publish", &place, "--base-url", "http://h/data/", "--json"]);
        command.arg("--state").arg(self.room.path().join("state")).args(more);
        self.server.configure(&mut command);
        command
    }

    /// Publishes, and returns the summary with the number of requests for bytes.
    pub(crate) fn publish(&self, more: &[&str]) -> (u64, u64, u64, i64) {
        let counter = RequestCounter::before(self.server.port());
        let mut command = self.command(more);
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", counter.port));
        let run = Run::of(&mut command).with_code(0);
        let summary = run.stdout.lines().find(|line| line.contains("\"type\":\"summary\"")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
        let count = |name: &str| summary[name].as_u64().unwrap();
        (count("created"), count("updated"), count("deleted"), counter.gets())
    }

    pub(crate) fn document(&self, name: &str) -> String {
        fs::read_to_string(self.room.path().join("state/resourcesync").join(name)).unwrap()
    }

    pub(crate) fn remove(&self, name: &str) {
        self.server.remove(&format!("content/{name}"));
    }
}

fn is_published_from(server: &S3Server) {
    let source = ObjectSource::new(server);
    // The catalogue needs a folder.
    let mut without = instep(["publish", "s3://library/content", "--base-url", "http://h/"]);
    let refused = Run::of(&mut without).with_code(2);
    assert!(refused.stderr.contains("--state DIR"), "{}", refused.stderr);

    let (created, ..) = source.publish(&[]);
    assert_eq!(created, 32);
    let list = source.document("resourcelist.xml");
    assert_eq!(list.matches("<url>").count(), 32, "{list}");
    assert!(list.contains("http://h/data/a=b.html") && !list.contains("hidden"), "{list}");
    // The digest of an empty object.
    assert!(
        list.contains("sha-256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        "{list}"
    );

    // One listing, and no byte of any object.
    let (created, updated, deleted, gets) = source.publish(&[]);
    assert_eq!((created, updated, deleted), (0, 0, 0));
    assert!(gets <= 2, "{gets} requests for nothing new");

    source.put("d/f03.txt", "another text");
    source.put("new.txt", "new");
    source.remove("d/f04.txt");
    let (created, updated, deleted, gets) = source.publish(&[]);
    assert_eq!((created, updated, deleted), (1, 1, 1));
    assert!(gets <= 4, "{gets} requests for two objects");
    let changes = source.document("changelist-000001.xml");
    for change in ["created", "updated", "deleted"] {
        assert!(changes.contains(&format!("change=\"{change}\"")), "{changes}");
    }

    // If the options request a further digest, each object has to be read.
    let (.., deleted, _) = source.publish(&["--hash", "md5,sha-256", "--snapshot"]);
    assert_eq!(deleted, 0);
    assert!(source.document("resourcelist.xml").contains("md5:d41d8cd98f00b204e9800998ecf8427e"));

    // Packages have the bytes.
    source.publish(&["--hash", "md5,sha-256", "--dump", "always"]);
    let dumps = fs::read_dir(source.room.path().join("state/resourcesync")).unwrap();
    let names: Vec<_> =
        dumps.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(
        names.iter().any(|name| Path::new(name).extension().is_some_and(|end| end == "zip")),
        "{names:?}"
    );

    // A bucket that is suddenly empty, or cannot be read, deletes nothing.
    let names = server.objects(source.room.path(), "content/").into_keys().collect::<Vec<_>>();
    names.iter().for_each(|name| source.remove(name));
    let refused = Run::of(&mut source.command(&[])).with_code(6);
    assert!(refused.stdout.contains("deletion") || refused.stderr.contains("delete"), "{}", refused.stderr);
    let nowhere = format!("s3://no-such-bucket-{}/content", std::process::id());
    let mut command = instep(["publish", &nowhere, "--base-url", "http://h/data/", "--state"]);
    server.configure(&mut command);
    let failed = Run::of(command.arg(source.room.path().join("other")));
    assert!(failed.stderr.contains("there is no bucket no-such-bucket"), "{}", failed.stderr);
    assert_eq!(failed.code, Some(8), "{}", failed.stderr);
    assert_eq!(failed.stderr.lines().count(), 1, "{}", failed.stderr);
}

#[test]
fn the_objects_of_moto_are_published() {
    let Some(server) = S3Server::moto() else { return };
    is_published_from(&server);
}

#[test]
fn the_objects_of_s3s_are_published() {
    let Some(server) = S3Server::s3s() else { return };
    is_published_from(&server);
}

#[test]
fn a_bucket_that_refuses_is_one_line_and_exit_code_8() {
    let Some(server) = S3Server::s3s() else { return };
    let source = ObjectSource::new(&server);
    let mut command = source.command(&[]);
    let refused = Run::of(command.env("AWS_SECRET_ACCESS_KEY", "another")).with_code(8);
    assert!(refused.stderr.contains("check AWS_SECRET_ACCESS_KEY"), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    assert!(!refused.stderr.contains("Signature="), "{}", refused.stderr);
}

#[test]
fn digests_that_a_service_keeps_are_taken_without_reading() {
    let Some(server) = S3Server::moto() else { return };
    let source = ObjectSource::new(&server);
    let (created, .., gets) = source.publish(&["--hash", "md5"]);
    assert_eq!(created, 32);
    assert!(gets <= 2, "{gets} requests for bytes whose MD5 is their entity tag");
    assert!(source.document("resourcelist.xml").contains("md5:d41d8cd98f00b204e9800998ecf8427e"));
}

#[test]
fn o345_objects_that_have_the_names_of_documents_are_reported_as_not_published() {
    let Some(server) = S3Server::moto() else { return };
    let source = ObjectSource::new(&server);
    let told = |more: &[&str], code| Run::of(&mut source.command(more)).with_code(code).stdout;
    assert!(!told(&[], 0).contains("their names belong"));
    source.put("resourcesync/mine.csv", "a");
    source.put("robots.txt", "b");
    source.put("below/robots.txt", "c");
    let said = told(&[], 0);
    assert!(
        said.contains("their names belong to the documents of a Source: resourcesync/mine.csv, robots.txt")
    );
    assert!(said.contains("+1") || said.contains("\"created\":1"), "{said}");
}
