//! WARC files of `sync --warc`, read by warcio.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{FakeSource, Fault, Layout, Run, Tree, instep, peers, wait_until};
use serde_json::Value;
use tempfile::TempDir;

/// Prints each record of the files as a line of JSON, and holds each line of their indexes against the record that it leads
/// to.
const REFEREE: &str = r#"
import glob, hashlib, io, json, os, sys
from warcio.archiveiterator import ArchiveIterator
captures = 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.warc.gz"))):
    with open(path, "rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            body = record.content_stream().read()
            headers = record.rec_headers
            captures += record.rec_type in ("response", "revisit", "resource")
            print(json.dumps({
                "type": record.rec_type, "uri": headers.get_header("WARC-Target-URI"),
                "status": record.http_headers.get_statuscode() if record.http_headers and record.rec_type != "request" else None,
                "sha256": hashlib.sha256(body).hexdigest(), "length": len(body),
                "profile": headers.get_header("WARC-Profile"), "refers": headers.get_header("WARC-Refers-To-Target-URI"),
                "http": dict(record.http_headers.headers) if record.http_headers else None,
                "file": os.path.basename(path)}))
lines = 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.cdxj"))):
    text = open(path).read().splitlines()
    assert text == sorted(text), path
    for line in text:
        key, time, fields = line.split(" ", 2)
        fields = json.loads(fields)
        with open(os.path.join(sys.argv[1], fields["filename"]), "rb") as stream:
            stream.seek(int(fields["offset"]))
            member = io.BytesIO(stream.read(int(fields["length"])))
        records = [(r.rec_headers.get_header("WARC-Target-URI"), r.rec_type) for r in ArchiveIterator(member)]
        assert [uri for uri, _ in records] == [fields["url"]], (line, records)
        assert (records[0][1] == "revisit") == (fields.get("mime") == "warc/revisit"), line
        lines += 1
assert lines == captures, (lines, captures)
"#;

/// Returns the records of an archive as warcio reads them; `None` if it is not installed.
fn records(archive: &Path) -> Option<Vec<Value>> {
    let [python, _] = peers::find(["python", "warcio"])?;
    let run = Run::of(Command::new(python).args(["-c", REFEREE]).arg(archive)).with_code(0);
    Some(run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn sync(source: &FakeSource, dir: &Path, more: &[&str]) -> Run {
    let (url, copy) = (source.url(""), dir.join("copy").display().to_string());
    Run::of(instep([&["sync", &url, &copy, "--warc", "archive"], more].concat()).current_dir(dir))
}

fn of_type<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

/// Returns the digests of the bodies that an archive has of each URI.
fn bodies(records: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut bodies: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for record in
        records.iter().filter(|record| ["response", "resource"].contains(&record["type"].as_str().unwrap()))
    {
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        bodies.entry(text("uri")).or_default().insert(text("sha256"));
    }
    bodies
}

fn sha256(file: &Path) -> String {
    let mut hasher = resourcesync::Hasher::new(&[resourcesync::Algorithm::Sha256]);
    hasher.update(&fs::read(file).unwrap());
    let digests = hasher.finish();
    digests.to_string().trim_start_matches("sha-256:").to_owned()
}

/// Asserts that each file of the copy is in the archive, byte for byte.
fn holds_the_copy(source: &FakeSource, dir: &Path, records: &[Value]) {
    let (bodies, copy) = (bodies(records), dir.join("copy"));
    for name in Tree::of(&copy).names() {
        let digest = sha256(&copy.join(name));
        assert!(bodies.get(&source.url(name)).is_some_and(|of| of.contains(&digest)), "{name}: {bodies:?}");
    }
}

#[test]
fn what_is_fetched_is_archived_as_it_was_on_the_wire() {
    let dir = TempDir::new().unwrap();
    let large: Vec<u8> = (0..700_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let source = FakeSource::start().with_resources([
        ("a.txt", "one".as_bytes()),
        ("d/b.txt", b"same"),
        ("d/c.txt", b"same"),
    ]);
    source.put("large.bin", large);
    source.snapshot();
    source.fail("a.txt", [Fault::Header("x-shown", "as it came".to_owned())]);
    source.fail("d/b.txt", [Fault::Status(503)]);
    _ = sync(&source, dir.path(), &["--via", "list", "--per-host", "1"]).with_code(0);
    let archive = dir.path().join("archive");
    let Some(first) = records(&archive) else { return };
    holds_the_copy(&source, dir.path(), &[first.clone(), expanded(&first)].concat());
    let of = |records: &[Value], kind: &str, path: &str| {
        let uri = source.url(path);
        of_type(records, kind)
            .into_iter()
            .filter(|record| record["uri"] == uri.as_str())
            .cloned()
            .collect::<Vec<_>>()
    };
    let [response] = &of(&first, "response", "a.txt")[..] else { panic!("one response: {first:?}") };
    assert_eq!((&response["status"], &response["http"]["x-shown"]), (&"200".into(), &"as it came".into()));
    let [request] = &of(&first, "request", "a.txt")[..] else { panic!("one request: {first:?}") };
    assert!(request["http"]["user-agent"].as_str().unwrap().starts_with("instep/"), "{request}");
    assert!(!of(&first, "response", "resourcelist.xml").is_empty(), "documents too");
    // One of two equal bodies is written.
    let twins = [of(&first, "revisit", "d/b.txt"), of(&first, "revisit", "d/c.txt")].concat();
    assert_eq!(twins.len(), 1, "{first:?}");
    assert!(twins[0]["profile"].as_str().unwrap().ends_with("identical-payload-digest"));

    source.put("a.txt", "changed");
    _ = sync(&source, dir.path(), &[]).with_code(0);
    let second = records(&archive).unwrap();
    assert_eq!(of(&second, "response", "a.txt").len(), 2);
    assert_eq!(of_type(&second, "warcinfo").len(), 1, "the second run goes on with the file");
    assert!(
        second
            .iter()
            .any(|record| record["type"] == "revisit"
                && record["uri"] == source.capability_list_url().as_str())
    );
}

/// Returns a response for each revisit, as of the record that it refers to.
fn expanded(records: &[Value]) -> Vec<Value> {
    let mut found = Vec::new();
    for revisit in of_type(records, "revisit") {
        let first =
            of_type(records, "response").into_iter().find(|record| record["uri"] == revisit["refers"]);
        if let Some(first) = first {
            let mut record = first.clone();
            record["uri"] = revisit["uri"].clone();
            found.push(record);
        }
    }
    found
}

#[test]
fn members_of_a_package_are_resources_and_credentials_stay_out() {
    let dir = TempDir::new().unwrap();
    let mut layout = Layout::new();
    layout.dump = true;
    let source = FakeSource::start_with(layout)
        .with_resources((0..5).map(|number| (format!("{number}.txt"), format!("text {number}"))));
    fs::write(dir.path().join("token"), "secret-token").unwrap();
    _ = sync(&source, dir.path(), &["--via", "dump", "--bearer-file", "token"]).with_code(0);
    let archive = dir.path().join("archive");
    let Some(records) = records(&archive) else { return };
    holds_the_copy(&source, dir.path(), &records);
    assert_eq!(of_type(&records, "resource").len(), 5);
    assert!(!format!("{records:?}").contains("secret-token"));
}

#[test]
fn a_killed_run_leaves_an_archive_of_all_that_the_copy_has() {
    let dir = TempDir::new().unwrap();
    let source =
        FakeSource::start().with_resources((0..300).map(|n| (format!("{n:03}.txt"), format!("text {n}"))));
    source.fail_always("250.txt", Fault::Hold);
    let (url, copy) = (source.url(""), dir.path().join("copy"));
    let arguments =
        ["sync", &url, copy.to_str().unwrap(), "--warc", "archive", "--via", "list", "--per-host", "2"];
    let mut running = instep(arguments).current_dir(dir.path()).spawn().unwrap();
    wait_until("50 files are committed", || Tree::of(&copy).names().len() >= 50);
    running.kill().unwrap();
    running.wait().unwrap();
    let archive = dir.path().join("archive");
    let left: Vec<PathBuf> = fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().path()).collect();
    let open = left.iter().find(|path| path.extension().is_some_and(|end| end == "open")).unwrap();
    // As a power failure leaves it: more of a record than of its end.
    let bytes = fs::read(open).unwrap();
    fs::write(open, [&bytes[..], &bytes[..40]].concat()).unwrap();
    let held: Vec<String> = Tree::of(&copy).names().iter().map(|name| (*name).to_string()).collect();
    source.release();
    source.heal();
    _ = sync(&source, dir.path(), &["--via", "list"]).with_code(0);
    let Some(records) = records(&archive) else { return };
    assert!(held.len() >= 50);
    holds_the_copy(&source, dir.path(), &records);
    assert_eq!(Tree::of(&copy).names().len(), 300);
}

#[test]
fn an_archive_is_published_as_its_resources_were_seen_last() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([
        ("a.txt", "one"),
        ("b.txt", "two"),
        ("q?x=1", "query"),
        ("gone.txt", "gone"),
    ]);
    _ = sync(&source, dir.path(), &["--via", "list"]).with_code(0);
    source.put("a.txt", "changed");
    _ = sync(&source, dir.path(), &[]).with_code(0);
    let archive = dir.path().join("archive");
    let file = fs::read_dir(&archive)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "gz"));
    let file = file.unwrap();
    // As another archiver writes it: not compressed, chunked, and about a resource that is gone since.
    let by_others = |uri: &str, status: &str, block: &str| {
        let block = format!("HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n{block}");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2099-01-01T00:00:00Z\r\n\
             WARC-Target-URI: <{uri}>\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    };
    let others = [
        by_others(&source.url("gone.txt"), "404 Not Found", ""),
        by_others(&source.url("new.txt"), "200 OK", "3\r\nnew\r\n0\r\n\r\n"),
        by_others("http://elsewhere.example.org/", "200 OK", ""),
    ];
    fs::write(archive.join("others.warc"), others.concat()).unwrap();
    let data = dir.path().join("data");
    fs::create_dir(&data).unwrap();
    let publish = |code: i32| {
        let (data, archive) = (data.to_str().unwrap(), archive.to_str().unwrap());
        Run::of(&mut instep([
            "publish",
            data,
            "--from",
            archive,
            "--base-url",
            &source.url(""),
            "--dump",
            "always",
        ]))
        .with_code(code)
    };
    _ = publish(0);
    let list = fs::read_to_string(data.join("resourcesync/resourcelist.xml")).unwrap();
    for (path, is_listed) in
        [("a.txt", true), ("b.txt", true), ("q?x=1", true), ("new.txt", true), ("gone.txt", false)]
    {
        assert_eq!(list.contains(&format!("<loc>{}</loc>", source.url(path))), is_listed, "{path}: {list}");
    }
    assert!(!list.contains("elsewhere"));
    assert_eq!(list.matches("<url>").count(), 4, "documents of ResourceSync are no resources: {list}");
    assert!(list.contains(&sha256(&dir.path().join("copy/a.txt"))), "the newest state: {list}");

    // A torn file: what is whole of it counts.
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 30]).unwrap();
    let run = publish(3);
    assert!(run.stderr.contains("cut off") && run.stderr.contains("byte"), "{}", run.stderr);
}

#[test]
fn o375_a_resource_that_came_in_parts_is_in_the_archive_as_a_whole() {
    let dir = TempDir::new().unwrap();
    let large: Vec<u8> = (0..700_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let source = FakeSource::start();
    source.put("large.bin", large);
    source.put("chunked.txt", "in chunks");
    source.snapshot();
    source.fail("large.bin", [Fault::Truncate(2_000_000)]);
    source.fail("chunked.txt", [Fault::Chunked]);
    _ = sync(&source, dir.path(), &["--via", "list"]).with_code(0);
    let requests = source.requests();
    assert!(requests.iter().any(|request| request.header("range").is_some()), "the transfer was continued");
    let archive = dir.path().join("archive");
    let data = dir.path().join("data");
    fs::create_dir(&data).unwrap();
    let (from, to) = (archive.display().to_string(), data.display().to_string());
    let base = source.url("");
    _ = Run::of(&mut instep(["publish", &to, "--from", &from, "--base-url", &base])).with_code(0);
    let listed = fs::read_to_string(data.join("resourcesync/resourcelist.xml")).unwrap();
    for name in ["large.bin", "chunked.txt"] {
        assert!(listed.contains(&format!("<loc>{}</loc>", source.url(name))), "{listed}");
    }
    let Some(records) = records(&archive) else { return };
    holds_the_copy(&source, dir.path(), &records);
    assert!(records.iter().all(|record| record["status"] != "206"), "{records:?}");
}
