//! Files that are durable with their names when others rely on them: the order of the system calls, as `strace` shows it.

use std::{fs, path::Path, process::Command};

use instep_testkit::{FakeSource, Run, instep, peers, wrap};
use tempfile::TempDir;

/// The system calls of a command in their order, with the paths of their files.
struct Calls(Vec<String>);

impl Calls {
    fn of(strace: &Path, command: &Command, log: &Path) -> Self {
        let mut traced = Command::new(strace);
        traced.args(["-f", "--seccomp-bpf", "-qq", "-y", "-o"]).arg(log);
        traced.args(["-e", "trace=fsync,fdatasync,syncfs,rename,renameat,renameat2"]);
        drop(Run::of(&mut wrap(traced, command)).with_code(0));
        let text = fs::read_to_string(log).unwrap();
        let calls = text.lines().filter_map(|line| line.split_once(' '));
        Self(calls.map(|(_, call)| call.trim_start().to_owned()).collect())
    }

    /// Returns the position of the first call with this name and text.
    fn position(&self, name: &str, text: &str) -> Option<usize> {
        self.0.iter().position(|call| call.starts_with(name) && call.contains(text))
    }

    /// Returns the position of the last call with this name and text.
    fn last_position(&self, name: &str, text: &str) -> Option<usize> {
        self.0.iter().rposition(|call| call.starts_with(name) && call.contains(text))
    }
}

#[test]
fn o670_a_file_of_a_web_archive_has_its_name_on_disk_before_a_copy_relies_on_its_records() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    let dir = TempDir::new().unwrap();
    let place = dir.path().canonicalize().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    let archive = place.join("archive");
    // The first run begins a file, and the second one goes on with it under its temporary name.
    for run in 0..2 {
        let mut sync = instep(["sync", "--warc"]);
        sync.arg(&archive).arg(source.url("")).arg(place.join("copy"));
        let calls = Calls::of(&strace, &sync, &place.join("log"));
        let folder = calls.position("fsync", &format!("<{}>", archive.display()));
        let records = calls.position("fdatasync", ".warc.gz.open>");
        assert!(folder.is_some() && folder < records, "{run}: {:?}", calls.0);
    }
}

#[test]
fn o671_an_export_is_on_disk_with_all_its_names_when_it_is_done() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    let dir = TempDir::new().unwrap();
    let place = dir.path().canonicalize().unwrap();
    let source = FakeSource::start().with_resources([("d/a.txt", "one")]);
    let copy = place.join("copy");
    drop(Run::of(instep(["sync", &source.url("")]).arg(&copy)).with_code(0));
    for form in ["--folder", "--bagit"] {
        let out = place.join(form.trim_start_matches('-'));
        let mut export = instep(["export"]);
        export.arg(&copy).arg(form).arg(&out);
        let calls = Calls::of(&strace, &export, &place.join("log"));
        let named = calls.position("rename", &format!("\"{}\"", out.display()));
        let inside = calls.position("syncfs", &format!("<{}.unfinished>", out.display()));
        let outside = calls.last_position("fsync", &format!("<{}>", place.display()));
        assert!(inside.is_some() && inside < named && named < outside, "{form}: {:?}", calls.0);
    }
}
