//! A child process commits changes without end and is killed, again and again, at random instants.

use std::{
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use crate::commit::StepHook;
use rand::Rng as _;

use super::bench::{open, open_folder};
use crate::store::{FolderOptions, FolderStore};

const COPY: &str = "INSTEP_TEST_KILLED_COPY";
const LONG: &str = "INSTEP_LONG";

/// Returns bytes of which each shows the resource and the version.
fn version(uri: &str, number: u64) -> Vec<u8> {
    let mut bytes = format!("{uri}\n{number}\n").into_bytes();
    let length = bytes.len() + (number as usize * 7_919) % 3_000;
    bytes.resize(length, b'a' + (number % 26) as u8);
    bytes
}

fn is_a_version(uri: &str, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let number = lines.nth(1).and_then(|line| line.parse().ok());
    number.is_some_and(|number| version(uri, number) == bytes)
}

/// Runs in the process that is killed; it is not a test by itself.
#[test]
fn child() {
    let Some(path) = std::env::var_os(COPY).map(PathBuf::from) else { return };
    let mut random = rand::rng();
    let report: StepHook = Arc::new(|_| {
        let _ = std::io::stdout().lock().write_all(b".");
        Ok(())
    });
    let store = Arc::new(FolderStore::open(&path, FolderOptions::new()).unwrap());
    let state = store.own_folder().join("state.sqlite");
    let mut copy = open(store, &state, Some(report));
    loop {
        for _ in 0..random.random_range(1..60) {
            let uri = match random.random_range(0..40) {
                number @ 0..30 => format!("http://h/d{}/{number}", number % 3),
                number => format!("http://h/d{}", number % 3),
            };
            if random.random_range(0..5) == 0 {
                copy.delete(&uri);
            } else {
                copy.add(&uri, &version(&uri, random.random_range(0..100_000)));
            }
        }
        copy.flush();
    }
}

#[test]
fn d42_k1_a_killed_run_leaves_every_file_whole_and_a_state_that_is_true() {
    let rounds = if std::env::var_os(LONG).is_some() { 1_000 } else { 100 };
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let mut recovered = 0;
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "commit::tests::kills::child", "--nocapture"])
            .env(COPY, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let steps = rand::rng().random_range(1..250);
        let mut dots = vec![0; steps];
        child.stdout.take().unwrap().read_exact(&mut dots).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        for (path, bytes) in files_below(dir.path()) {
            let uri = String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned();
            assert!(is_a_version(&uri, &bytes), "round {round}: {path} is neither old nor new");
        }
        let copy = open_folder(dir.path());
        recovered += copy.recovered.finished + copy.recovered.undone;
        assert_eq!(copy.recovered.lost, 0, "round {round}");
        let contents = copy.contents();
        assert!(contents.iter().all(|(uri, _, bytes)| is_a_version(uri, bytes)), "round {round}");
        assert_eq!(files_below(dir.path()).len(), contents.len(), "round {round}: a file that nobody holds");
    }
    assert!(recovered > 0, "no kill met a group under way");
}

fn files_below(top: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_name() == ".instep" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else {
                files.push((path.display().to_string(), std::fs::read(path).unwrap()));
            }
        }
    }
    files
}
