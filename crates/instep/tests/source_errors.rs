//! The errors of the commands of a Source: what failed, for which path or URL, why, and what to do (P15).
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_instep"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder).stdin(Stdio::null());
    let Output { status, stderr, .. } = command.output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

const BASE: &str = "http://source.example/";

/// A command, its exit code, and parts of its message: the subject, the reason, and what to do.
type Case = (&'static str, i32, [&'static str; 3]);

const CASES: &[Case] = &[
    ("publish none --base-url BASE", 2, ["none", "is not a folder", "Give"]),
    ("publish data --base-url ftp://a/", 2, ["ftp://a/", "--base-url", "http://"]),
    ("publish data --base-url nonsense", 2, ["nonsense", "not a URL", "http://"]),
    ("publish blocked --base-url BASE", 8, ["blocked/.instep", "Not a directory", "move that file away"]),
    ("publish taken --base-url BASE", 8, ["taken/resourcesync", "Not a directory", "move that file away"]),
    ("publish data --base-url BASE --from none.csv", 2, ["none.csv", "No such file", "Check"]),
    ("publish data --base-url BASE --from bad.csv", 2, ["bad.csv", "line 1", "Correct"]),
    (
        "publish published --base-url http://other.example/",
        6,
        ["http://other.example/", "published at", "--rebase"],
    ),
    (
        "publish published --base-url BASE --wait 0s",
        8,
        ["published/.instep/catalogue.db", "not a database", "backup"],
    ),
    (
        "publish foreign --base-url BASE",
        6,
        ["resourcesync/resourcelist.xml", "did not write", "--overwrite-documents"],
    ),
    ("publish emptied --base-url BASE", 6, ["The only resource", "gone", "--allow-empty"]),
    ("publish data --base-url BASE --versions", 2, ["Prior versions", "plain files", "instep serve"]),
    (
        "publish data --base-url BASE --from emptied",
        2,
        ["emptied is a folder", "neither a copy", "Give it as DIR"],
    ),
    ("serve data --listen 127.0.0.1", 2, ["127.0.0.1", "no port", "write HOST:PORT"]),
    ("serve data --listen 192.0.2.1:80", 2, ["192.0.2.1:80", "Cannot assign", "Choose"]),
    ("serve data --listen 0.0.0.0:0", 2, ["0.0.0.0:0", "documents name the URL", "--base-url"]),
    (
        "serve data --listen 127.0.0.1:0 --tls-cert none.pem --tls-key none.pem",
        2,
        ["none.pem", "No such file", "PEM"],
    ),
    ("serve data --listen 127.0.0.1:0 --tls-cert bad.pem --tls-key bad.pem", 2, ["bad.pem", "PEM", "Give"]),
    ("serve data --listen 127.0.0.1:0 --admin-token-file none", 2, ["none", "No such file", "Check"]),
    (
        "change add http://a/x --dir none",
        2,
        ["none/.instep", "no Source was published", "publish or serve it first"],
    ),
    ("change add nonsense --dir data", 2, ["nonsense", "is not a URI", "write it as"]),
    ("change add http://a/x --dir blocked", 2, ["blocked/.instep/admin.json", "Not a directory", "Check"]),
    ("republish data --base-url BASE", 2, ["data", "holds no copy", "instep sync"]),
    ("republish none --base-url BASE", 2, ["none", "is not a folder", "Give"]),
    ("republish data", 2, ["copy", "Set --base-url", "--listen"]),
    ("init none", 2, ["none", "is not a folder", "give a folder"]),
    ("init data", 2, ["instep.toml", "exists", "--force"]),
    ("validate none.xml", 2, ["none.xml", "No such file", "Check"]),
    ("validate http://127.0.0.1:1/", 4, ["http://127.0.0.1:1/", "Connection refused", "Check the URL"]),
];

#[test]
fn p15_each_error_of_a_source_says_what_failed_where_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, text) in [
        ("data/a.txt", "a"),
        ("blocked/.instep", ""),
        ("taken/resourcesync", ""),
        ("published/a.txt", "a"),
        ("emptied/a.txt", "a"),
        ("foreign/resourcesync/resourcelist.xml", "theirs"),
        ("bad.csv", "name,size\na,1\n"),
        ("bad.pem", "x"),
    ] {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(folder.join(name), text).unwrap();
    }
    for name in ["published", "emptied"] {
        assert_eq!(run(folder, &["publish", name, "--base-url", BASE]).0, Some(0));
    }
    fs::remove_file(folder.join("emptied/a.txt")).unwrap();
    let mut wrong = Vec::new();
    for (command, code, words) in CASES {
        if command.starts_with("init data") {
            fs::write(folder.join("instep.toml"), "").unwrap();
        }
        if command.contains("published --base-url BASE") {
            fs::write(folder.join("published/.instep/catalogue.db"), "broken").unwrap();
        }
        let arguments: Vec<_> =
            command.split(' ').map(|word| if word == "BASE" { BASE } else { word }).collect();
        let (ended, text) = run(folder, &arguments);
        let missing =
            words.iter().filter(|word| !text.contains(**word)).map(|word| format!("{word:?} is missing"));
        let mut faults: Vec<_> = missing.collect();
        faults.extend((ended != Some(*code)).then(|| format!("it ends with {ended:?}")));
        faults.extend(
            ["Error {", "Os {"].iter().filter(|it| text.contains(**it)).map(|it| format!("{it} is no text")),
        );
        if !faults.is_empty() {
            wrong.push(format!("{command}: {}\n{text}", faults.join(", ")));
        }
        let _ = fs::remove_file(folder.join("instep.toml"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
