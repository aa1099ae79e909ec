//! Wrong turns that people take, and what the program says then.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    fs,
    io::{BufRead, BufReader, Lines},
    net::TcpListener,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn instep(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_instep"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder).stdin(Stdio::null());
    command
}

/// Runs a command that ends with a code, and returns what it said.
fn run(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = instep(folder, arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{said}");
    said
}

/// A Source that is served.
struct Serving {
    child: Child,
    url: String,
    /// Open for as long as it serves, because it writes more.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Serving {
    fn start(folder: &Path) -> Self {
        let mut serve = instep(folder, &["serve", "data", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut values = lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let ready = values.find(|value| value["type"] == "ready").unwrap();
        Self { child, url: ready["url"].as_str().unwrap().to_owned(), _lines: lines }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn finding_d18_an_audit_checks_the_files_that_its_filters_select_and_no_other() {
    let folder = folder(&[("data/letters/a.txt", "one"), ("data/notes/b.txt", "two")]);
    let source = Serving::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    fs::write(folder.path().join("copy/notes/b.txt"), "another").unwrap();
    let every = run(folder.path(), &["audit", &source.url, "copy"], 20);
    assert!(every.contains("1 same, 1 differ"), "{every}");
    let letters = run(folder.path(), &["audit", &source.url, "copy", "--include", "letters/**"], 0);
    assert!(letters.contains("In step: 1 same"), "{letters}");
    let offline = run(folder.path(), &["audit", "copy", "--offline", "--exclude", "letters/**"], 20);
    assert!(offline.contains("Not in step: 0 same, 1 differ"), "{offline}");
    let nothing = run(folder.path(), &["audit", &source.url, "copy", "--include", "lettres/**"], 0);
    assert!(nothing.contains("Nothing compared: 0 same"), "{nothing}");
}

#[test]
fn finding_d19_a_publication_of_nothing_says_that_there_is_nothing_or_that_nothing_matches() {
    let folder = folder(&[("data/a.txt", "one"), ("empty/.hidden", "")]);
    const SAID: &str = "no file matches the filters";
    let publish = ["publish", "data", "--base-url", "http://source.example/", "--include", "*.pdf"];
    for more in [&["--dry-run"][..], &[]] {
        let said = run(folder.path(), &[&publish[..], more].concat(), 0);
        assert!(said.contains(SAID), "{said}");
    }
    let empty = run(folder.path(), &["publish", "empty", "--base-url", "http://source.example/"], 0);
    assert!(empty.contains(SAID), "{empty}");
}

#[test]
fn finding_d20_a_wrong_number_address_or_place_says_what_to_write() {
    let folder = folder(&[("data/a.txt", "one")]);
    for (arguments, said) in [
        (&["sync", "http://a.example/", "--transfers", "0"][..], "write a whole number from 1"),
        (&["sync", "http://a.example/", "--retries", "x"], "\"x\" is not a whole number"),
        (&["validate", "data", "--samples", "x"], "is not a whole number"),
        (&["serve", "data", "--listen", "8077"], "8077 is a port without a host; write 127.0.0.1:8077"),
        (&["run", "--listen", "8077"], "8077 is a port without a host"),
        (&["status", "--listen", "here"], "\"here\" has no port; write HOST:PORT"),
        (&["serve", "data", "--listen", "127.0.0.1:99999"], "has no port from 0 to 65535"),
        (&["sync", "http://a.example/", "s3://bucket/x"], "sync --store"),
        (&["audit", "copy", "http://a.example/"], "is a URL (http); name a folder of this machine"),
        (&["sync", "http://a.example/", "--as-of", "yesterday"], "\"yesterday\" is not a time; write 2026"),
        (&["validate", "a.example"], "a URL begins with https://"),
    ] {
        let wrong = run(folder.path(), arguments, 2);
        assert!(wrong.contains(said), "{arguments:?}: {wrong}");
        let is_once = |quoted: &str| wrong.matches(quoted).count() <= 1;
        assert!(is_once("\"yesterday\""), "{wrong}");
    }
}

#[test]
fn finding_d12_an_address_in_use_has_the_same_advice_for_each_server() {
    let folder = folder(&[("data/a.txt", "one")]);
    let source = Serving::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for command in [
        &["serve", "data", "--state", "state", "--base-url", "http://source.example/"][..],
        &["sync", &source.url, "copy", "--follow"],
        &["status", "copy"],
        &["run"],
    ] {
        let wrong = run(folder.path(), &[command, &["--listen", &address]].concat(), 2);
        assert!(wrong.contains(&format!("Cannot listen on {address}: ")), "{command:?}: {wrong}");
        assert!(wrong.contains("Choose another address with --listen"), "{command:?}: {wrong}");
    }
}

#[test]
fn finding_d21_a_source_with_another_name_for_its_host_is_told_from_one_that_is_away() {
    let folder = folder(&[("data/a.txt", "one")]);
    let source = Serving::start(folder.path());
    let other = source.url.replace("127.0.0.1", "localhost");
    let wrong = run(folder.path(), &["sync", &other, "copy"], 4);
    assert!(wrong.contains("Give the URL that the Source has for itself"), "{wrong}");
    assert!(wrong.contains("--allow-origin ORIGIN") && !wrong.contains("the network"), "{wrong}");
}

#[test]
fn finding_d22_a_source_that_is_added_twice_by_mistake_becomes_no_second_copy() {
    let folder = folder(&[]);
    let add = ["source", "add", "http://source.example/"];
    run(folder.path(), &add, 0);
    let again = run(folder.path(), &add, 2);
    assert!(again.contains("is kept already, as source.example; give --name NAME"), "{again}");
    run(folder.path(), &[&add[..], &["--name", "second"]].concat(), 0);
    let listed = run(folder.path(), &["source", "list"], 0);
    assert!(listed.contains("2 Sources"), "{listed}");
    let unknown = run(folder.path(), &["source", "pause", "third"], 2);
    assert!(unknown.contains("`instep source list` shows the names"), "{unknown}");
    run(folder.path(), &["source", "remove", "second", "source.example"], 0);
    let none = run(folder.path(), &["source", "list"], 0);
    assert!(none.contains("0 Sources\nAdd one with: instep source add URL"), "{none}");
}

#[test]
fn finding_d23_the_last_line_of_a_run_says_nothing_that_was_true_only_before_it() {
    let folder = folder(&[("data/a.txt", "one")]);
    let source = Serving::start(folder.path());
    let said = run(folder.path(), &["sync", &source.url, "copy"], 0);
    let last = said.lines().find(|line| line.starts_with("In step: +1 ")).unwrap();
    assert!(last.ends_with("s") && !last.contains("first copy"), "{said}");
    assert!(said.contains("Using the Resource List: the first copy"), "{said}");
    let status = run(folder.path(), &["status", "copy"], 0);
    assert!(status.contains("using the Resource List: +1 ~0 -0; the first copy"), "{status}");
}

#[test]
fn finding_d24_a_served_source_conforms_by_the_url_of_its_site_with_and_without_the_last_slash() {
    let folder = folder(&[("data/index.html", "<p>a page"), ("data/a.txt", "one")]);
    let source = Serving::start(folder.path());
    for url in [source.url.as_str(), source.url.trim_end_matches('/')] {
        let said = run(folder.path(), &["validate", url, "--follow"], 0);
        assert!(said.contains("Conforms: "), "{said}");
    }
}

#[test]
fn finding_d25_a_configuration_that_cannot_be_read_is_named_without_the_usage_of_commands() {
    let folder = folder(&[("data/a.txt", "one"), ("broken.toml", "a = [\n")]);
    for (file, said) in [("none.toml", "Cannot read none.toml"), ("broken.toml", "broken.toml is not TOML")] {
        let wrong = run(folder.path(), &["status", "--config", file], 2);
        assert!(wrong.contains(said) && !wrong.contains("Usage"), "{wrong}");
    }
}

#[test]
fn c32_a_web_url_without_a_host_is_refused_in_the_same_words_wherever_a_url_is_taken() {
    const WORDS: &str = "A web URL needs a host, as in http://example.org/";
    let folder = folder(&[("data/a.txt", "a")]);
    let folder = folder.path();
    for url in ["http:///a", "http:/a", "https://", "https://:443/a"] {
        let (repository, map) = (format!("oai+{url}"), format!("{url}=below"));
        for arguments in [
            &["publish", "data", "--base-url", url][..],
            &["publish", "data", "--base-url", "http://x/", "--describedby", url],
            &["publish", "data", "--base-url", "http://x/", "--from", &repository],
            &["publish", "data", "--rebase", "http://x/", url],
            &["serve", "data", "--listen", "127.0.0.1:0", "--hub", url],
            &["sync", url, "copy"],
            &["sync", "http://127.0.0.1:9/", "copy", "--follow", "--callback-url", url],
            &["sync", "http://127.0.0.1:9/", "copy", "--allow-origin", url],
            &["sync", "http://127.0.0.1:9/", "copy", "--proxy", url],
            &["sync", "http://127.0.0.1:9/", "copy", "--map", &map],
            &["source", "add", url],
            &["explore", url],
        ] {
            let said = run(folder, arguments, 2);
            assert!(said.to_lowercase().contains(&WORDS.to_lowercase()), "{arguments:?}: {said}");
        }
        let line = format!("{{\"uri\":\"{url}\",\"path\":\"data/a.txt\"}}\n");
        fs::write(folder.join("manifest.jsonl"), line).unwrap();
        let publish = [
            "publish",
            "data",
            "--base-url",
            "http://x/",
            "--from",
            "manifest.jsonl",
            "--out",
            "out",
            "--state",
            "state",
        ];
        let said = run(folder, &publish, 3);
        assert!(said.contains(&format!("line 1: {url:?}: {WORDS}")), "{said}");
        let list = format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>{url}</loc></url></urlset>"
        );
        fs::write(folder.join("list.xml"), list).unwrap();
        let said = run(folder, &["validate", "list.xml"], 5);
        assert!(said.contains(&format!("GEN-14: found \"{url}\"")) && said.contains(WORDS), "{said}");
    }
}

/// Writes a manifest of five resources below a base URL.
fn manifest(folder: &Path, base: &str, more: &str) {
    let lines =
        (1..=5).map(|n| format!("{{\"uri\":\"{base}f{n}\",\"path\":\"f{n}\"}}\n")).collect::<String>();
    fs::write(folder.join("manifest.jsonl"), lines + more).unwrap();
}

#[test]
fn c34_a_manifest_with_the_uris_of_before_a_move_deletes_nothing() {
    let files = ["f1", "f2", "f3", "f4", "f5"].map(|name| (format!("data/{name}"), name));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    for (old, new) in
        [("http://old/", "http://new/"), ("http://x/", "http://x/f/"), ("http://x/f/", "http://x/")]
    {
        let folder = folder(&files);
        let folder = folder.path();
        let from = ["publish", "data", "--from", "manifest.jsonl"];
        let publish = |more: &[&str], code| run(folder, &[&from[..], more].concat(), code);
        manifest(folder, old, "");
        publish(&["--base-url", old], 0);
        let list = fs::read(folder.join("data/resourcesync/resourcelist.xml")).unwrap();
        for more in [&["--rebase", old, new][..], &["--rebase", old, new, "--dry-run"]] {
            let said = publish(more, 2);
            assert!(said.contains(&format!("Replace {old} by {new} in it")), "{said}");
            assert!(said.contains("manifest.jsonl"), "{said}");
        }
        // Nothing was moved.
        assert_eq!(fs::read(folder.join("data/resourcesync/resourcelist.xml")).unwrap(), list);
        assert!(publish(&["--base-url", old], 0).contains("+0 ~0 -0 =5"));

        manifest(folder, new, "");
        let would = publish(&["--rebase", old, new, "--dry-run"], 0);
        assert!(would.contains("Would publish: +0 ~0 -0"), "{would}");
        assert!(publish(&["--rebase", old, new], 0).contains("+0 ~0 -0 =5"));
        // The old one once more, by mistake, with a new line and without.
        for more in ["", "{\"uri\":\"http://elsewhere/\",\"length\":1}\n"] {
            manifest(folder, old, more);
            assert!(publish(&["--base-url", new], 2).contains("Replace "), "{old} {new}");
        }
        manifest(folder, new, "");
        assert!(publish(&["--base-url", new], 0).contains("+0 ~0 -0 =5"));
        let changes = fs::read_to_string(folder.join("data/resourcesync/changelist-000001.xml")).unwrap();
        assert!(!changes.contains("<url>"), "{changes}");
    }
}

#[test]
fn c35_a_dry_run_of_a_move_shows_what_changed_and_not_the_move() {
    let folder = folder(&[("data/a.txt", "one"), ("data/b.txt", "two")]);
    let folder = folder.path();
    run(folder, &["publish", "data", "--base-url", "http://old/"], 0);
    fs::write(folder.join("data/c.txt"), "new").unwrap();
    let would = run(folder, &["publish", "data", "--rebase", "http://old/", "http://new/", "--dry-run"], 0);
    assert!(would.contains("+ http://new/c.txt\n") && would.contains("Would publish: +1 ~0 -0"), "{would}");
    assert!(!would.contains("a.txt"), "{would}");
    run(folder, &["publish", "data", "--rebase", "http://old/", "http://new/"], 0);
}
