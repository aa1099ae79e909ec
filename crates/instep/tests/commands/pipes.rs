//! Output that cannot be written, because its reader has gone or the disk is full: the exit code does not report
//! success.

use std::{fs, io, process::Stdio};

use crate::support::{ServedSource, folder, instep, run};

/// Returns a pipe whose reader has gone.
fn without_reader() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn o210_a_result_that_cannot_be_written_ends_with_8() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    for arguments in [
        &["sync", &source.url, "copy", "--json"][..],
        &["audit", &source.url, "copy"],
        &["completions", "bash"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = instep(folder.path(), arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(8), "{arguments:?}: {said}");
        assert!(said.contains("Cannot write to standard output: No space left"), "{said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("copy/a.txt")).unwrap(), "a");
}

#[test]
fn o681_a_document_of_resync_build_that_cannot_be_written_ends_with_8() {
    let folder = folder(&[("data/a.txt", "a")]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = ["resync-build", "--write-resourcelist", "http://example.com/", "data"];
    let output = instep(folder.path(), &arguments).stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(said.contains("Cannot write to standard output: No space left"), "{said}");
}

#[test]
fn o211_a_command_whose_reader_goes_away_ends_with_141() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    for arguments in [&["sync", &source.url, "copy", "-v"][..], &["completions", "fish"], &["explain"]] {
        let mut command = instep(folder.path(), arguments);
        let status = command.stdout(without_reader()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(141), "{arguments:?}");
    }
    run(folder.path(), &["sync", &source.url, "copy"], 0);
}

#[test]
fn o895_an_exported_state_whose_reader_goes_away_ends_with_141() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    let mut export = instep(folder.path(), &["state", "export", "copy", "-"]);
    let status = export.stdout(without_reader()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(141));
}

#[test]
fn o212_a_reader_of_the_log_that_goes_away_does_not_end_the_work() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    let mut sync = instep(folder.path(), &["sync", &source.url, "copy"]);
    let status = sync.stderr(without_reader()).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(fs::read_to_string(folder.path().join("copy/a.txt")).unwrap(), "a");
}
