//! Full, limited and read-only disks. They need a file system of their own: where it cannot be mounted, a test says so.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use crate::{
    commit::CommitError,
    store::{FolderOptions, FolderStore, StagingArea as _, StoreError},
};

use super::bench::{Copy, open, open_folder};

const CHILD: &str = "INSTEP_TEST_FEW_FILES";

/// A file system in memory, which is unmounted with this value.
struct Disk {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

impl Disk {
    fn mount(test: &str, options: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let mounted = mount(&["-t", "tmpfs", "-o", options, "tmpfs"], &path);
        if !mounted {
            assert!(std::env::var("CI").is_err(), "{test}: no file system could be mounted");
            eprintln!("left out, no file system could be mounted: {test}");
        }
        mounted.then_some(Self { path, _dir: dir })
    }

    fn remount(&self, options: &str) {
        assert!(mount(&["-o", &format!("remount,{options}")], &self.path), "remount {options}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

fn mount(arguments: &[&str], path: &Path) -> bool {
    let output = Command::new("mount").args(arguments).arg(path).output();
    output.is_ok_and(|output| output.status.success())
}

fn try_open(path: &Path) -> Result<Copy, StoreError> {
    let mut options = FolderOptions::new();
    options.reserve = Some(0);
    let store = FolderStore::open(path, options)?;
    let state = store.own_folder().join("state.sqlite");
    Ok(open(Arc::new(store), &state, None))
}

/// Stages and commits until storage fails.
fn fill(copy: &mut Copy, bytes: &[u8]) -> CommitError {
    for number in 0.. {
        let uri = super::bench::uri(&format!("http://h/{}/{number}", number % 7));
        let path = super::bench::mapper().map(&uri).unwrap();
        let staged = copy.store.stage(&super::bench::SHA256).and_then(|mut file| {
            file.write(bytes)?;
            file.finish(None)
        });
        let staged = match staged {
            Ok(staged) => staged,
            Err(error) => return error.into(),
        };
        let file =
            crate::commit::NewFile::new(uri, path, staged, crate::state::ResourceMetadata::new(), copy.set);
        let added = copy.committer.add(crate::commit::Commit::File(file));
        let flushed =
            added.and_then(|_| if number % 8 == 7 { copy.committer.flush().map(|_| ()) } else { Ok(()) });
        if let Err(error) = flushed {
            return error;
        }
    }
    unreachable!()
}

fn is_storage(error: &CommitError) -> bool {
    match error {
        CommitError::Store(error) => error.is_storage(),
        CommitError::State(error) => error.is_storage(),
    }
}

#[test]
fn d41_a_full_disk_stops_the_run_and_spoils_nothing() {
    let Some(disk) = Disk::mount("a full disk", "size=3m") else { return };
    let mut copy = try_open(&disk.path).unwrap();
    let error = fill(&mut copy, &[7; 40_000]);
    assert!(is_storage(&error), "{error:?}");
    drop(copy);
    disk.remount("size=64m");
    let mut copy = try_open(&disk.path).unwrap();
    let held = copy.contents().len();
    assert!(held > 0);
    copy.add("http://h/more", b"more");
    copy.flush();
    assert_eq!(copy.contents().len(), held + 1);
}

#[test]
fn d41_a_disk_without_inodes_stops_the_run_and_spoils_nothing() {
    let Some(disk) = Disk::mount("a disk without inodes", "size=64m,nr_inodes=80") else { return };
    let mut copy = try_open(&disk.path).unwrap();
    let error = fill(&mut copy, b"small");
    assert!(is_storage(&error), "{error:?}");
    drop(copy);
    disk.remount("nr_inodes=10000");
    let copy = try_open(&disk.path).unwrap();
    assert!(!copy.contents().is_empty());
}

#[test]
fn d41_a_read_only_disk_is_said_to_be_one() {
    let Some(disk) = Disk::mount("a read-only disk", "size=8m") else { return };
    let mut copy = try_open(&disk.path).unwrap();
    copy.add("http://h/a", b"1");
    copy.flush();
    drop(copy);
    disk.remount("ro");
    let error = try_open(&disk.path).unwrap_err();
    assert!(error.is_storage(), "{error:?}");
    disk.remount("rw");
    assert_eq!(try_open(&disk.path).unwrap().contents().len(), 1);
}

#[test]
fn d41_the_reserve_is_left_free() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = FolderOptions::new();
    options.reserve = Some(u64::MAX);
    let store = FolderStore::open(dir.path(), options).unwrap();
    assert!(matches!(store.stage(&[]), Err(StoreError::Reserve { .. })));
    assert_eq!(store.free_bytes().unwrap(), Some(0));
}

#[test]
fn o524_the_reserve_is_left_free_by_one_large_file_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = FolderOptions::new();
    options.reserve = Some(u64::MAX);
    let store = FolderStore::open(dir.path(), options).unwrap();
    assert!(matches!(store.stage(&[]), Err(StoreError::Reserve { .. })));
    // The free space is not checked for each of many small files.
    let mut large = store.stage(&[]).unwrap();
    large.write(&[0; 1 << 10]).unwrap();
    let written = (0..64).try_for_each(|_| large.write(&vec![0; 1 << 20]));
    assert!(matches!(written, Err(StoreError::Reserve { .. })), "{written:?}");
}

#[test]
fn d41_too_many_open_files_stop_a_step_and_spoil_nothing() {
    let script = "ulimit -n 64; exec \"$0\" --exact commit::tests::exhaustion::child --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Runs in the process that may open few files; it is not a test by itself.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    copy.add("http://h/a", b"1");
    let mut open_files = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        open_files.push(file);
    }
    let error = copy.store.stage(&[]).unwrap_err();
    assert!(error.is_exhaustion() && error.is_storage(), "{error:?}");
    assert!(is_storage(&copy.committer.flush().unwrap_err()));
    open_files.clear();
    drop(copy);
    let mut copy = open_folder(dir.path());
    copy.add("http://h/a", b"1");
    copy.flush();
    assert_eq!(copy.contents().len(), 1);
}
