//! Where an option comes from: flag, environment, file.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{fs, path::Path};

use assert_cmd::Command;
use tempfile::TempDir;

/// A folder with one resource and a configuration file.
fn folder(configuration: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/a.txt"), "a").unwrap();
    fs::write(folder.path().join("instep.toml"), configuration).unwrap();
    folder
}

fn instep(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("instep").unwrap();
    command.current_dir(folder).env_clear().env("HOME", folder);
    command
}

fn source_description(command: &mut Command) -> String {
    let output = command.args(["publish", "data", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let summary: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    summary["source_description"].as_str().unwrap().to_owned()
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\n");
    let found = source_description(&mut instep(folder.path()));
    assert_eq!(found, "http://file.example/.well-known/resourcesync");

    let found =
        source_description(instep(folder.path()).env("INSTEP_BASE_URL", "http://environment.example/"));
    assert_eq!(found, "http://environment.example/.well-known/resourcesync");

    let mut command = instep(folder.path());
    command.env("INSTEP_BASE_URL", "http://environment.example/");
    let output =
        command.args(["publish", "data", "--json", "--base-url", "http://flag.example/"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("http://flag.example/.well-known/resourcesync"));
}

#[test]
fn a_key_that_the_command_does_not_have_is_named() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\ncolour = \"red\"\n");
    let output = instep(folder.path()).args(["publish", "data"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("instep.toml: [publish] has no key colour"), "{message}");
}

#[test]
fn a_table_that_no_command_owns_is_named() {
    let folder = folder("[publsh]\n");
    let output =
        instep(folder.path()).args(["publish", "data", "--base-url", "http://x.example/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no command publsh"));
}

#[test]
fn an_option_that_is_missing_or_wrong_ends_with_2() {
    let folder = folder("");
    for arguments in
        [&["publish", "data"][..], &["sync"], &["sync", "http://x.example/", "--timeout", "soon"], &["dance"]]
    {
        let output = instep(folder.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn the_exit_codes_are_one_table() {
    let folder = folder("");
    let help = instep(folder.path()).args(["help", "exit-codes"]).output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    for code in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "20", "130", "143"] {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(code)), "{code}");
    }
}
