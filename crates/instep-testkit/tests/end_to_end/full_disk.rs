//! A disk that becomes full while a copy is made or a folder is published (D41): the files on it stay correct, and
//! the next run finishes the work once there is room.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{FakeSource, Run, Tree, compare, instep, peers};

use crate::disk::Disk;

const KIB: u64 = 1 << 10;
const RESOURCES: usize = 48;
const BASE: &str = "http://source.example/";

/// A file that fills a disk except for some room. The space is free again when this value is dropped.
struct Ballast(PathBuf);

impl Ballast {
    fn leaving(room: u64, disk: &Disk) -> Self {
        let path = disk.path().join("ballast");
        let now = rustix::fs::statvfs(disk.path()).unwrap();
        let free = now.f_bavail * now.f_frsize;
        let mut file = fs::File::create(&path).unwrap();
        let block = vec![b'b'; KIB as usize];
        (0..free.saturating_sub(room) / KIB).for_each(|_| file.write_all(&block).unwrap());
        Self(path)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn path(number: usize) -> String {
    format!("d{}/{number}.bin", number % 5)
}

/// Returns 40 KiB that cannot be compressed.
fn bytes(number: usize, state: usize) -> Vec<u8> {
    let mut word = (number * 1_000 + state) as u64;
    let mut next = || {
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 31)).to_le_bytes()
    };
    (0..5 * KIB).flat_map(|_| next()).collect()
}

fn sync(source: &FakeSource, copy: &Path) -> Run {
    Run::of(instep(["sync", "--retries", "0", "--delete"]).arg(source.url("")).arg(copy))
}

/// Returns the number of files of a copy, after checking that each one is a state that its resource had.
fn whole_files(copy: &Path, states: usize) -> usize {
    if !copy.exists() {
        return 0;
    }
    let tree = Tree::of(copy);
    for name in tree.names() {
        let number: usize = name.split(['/', '.']).nth(1).unwrap().parse().unwrap();
        let held = fs::read(copy.join(name)).unwrap();
        let is_state = (0..states).any(|state| bytes(number, state) == held);
        assert!(is_state, "{name} is no state that it ever had ({} bytes)", held.len());
    }
    tree.names().len()
}

/// Syncs while there is too little room, and again when there is enough.
fn sync_in(room: u64, disk: &Disk, source: &FakeSource, copy: &Path, states: usize) -> usize {
    let ballast = Ballast::leaving(room, disk);
    let full = sync(source, copy);
    assert_eq!(full.code, Some(8), "{room} bytes are enough: {}{}", full.stdout, full.stderr);
    let held = whole_files(copy, states);
    let audit = || Run::of(instep(["audit", "--offline"]).arg(copy));
    // Reading the state also takes room on the disk.
    let looked = audit();
    assert!(held == 0 || matches!(looked.code, Some(0 | 8)), "{:?} {}", looked.code, looked.stderr);
    drop(ballast);
    if held > 0 {
        let _ = audit().with_code(0);
    }
    let _ = sync(source, copy).with_code(0);
    let truth = tempfile::tempdir().unwrap();
    source.write_to(truth.path()).unwrap();
    assert_eq!(compare(truth.path(), copy), [""; 0]);
    held
}

#[test]
fn d41_a_copy_on_a_full_disk_stays_right_and_is_finished_once_there_is_room() {
    let Some(disk) = Disk::mount("32m") else { return };
    let mut begun = 0;
    for room in [96, 400, 700, 1_100, 1_600] {
        let resources = (0..RESOURCES).map(|number| (path(number), bytes(number, 0)));
        let source = FakeSource::start().with_resources(resources);
        let copy = disk.path().join(format!("copy-{room}"));
        let held = sync_in(room * KIB, &disk, &source, &copy, 1);
        begun += usize::from(held > 0 && held < RESOURCES);
        for number in 0..RESOURCES {
            match number % 8 {
                0 => source.delete(&path(number)),
                _ => source.put(&path(number), bytes(number, 1)),
            }
        }
        sync_in(room * KIB / 2, &disk, &source, &copy, 2);
        fs::remove_dir_all(copy).unwrap();
    }
    assert!(begun > 0, "no run got so far that it had some resources and not the others");
}

fn publish(folder: &Path) -> Run {
    let mut command = instep(["publish", "-q", "--base-url", BASE, "--dump", "always", "--change-dump"]);
    Run::of(command.args(["--archives", "--gzip", "--snapshot"]).arg(folder))
}

fn verify(python: &Path, folder: &Path, options: &[&str]) {
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/oracle/verify.py"));
    command.args(["--base", BASE, "--root"]).arg(folder).args(options).current_dir(folder);
    let _ = Run::of(&mut command).with_code(0);
}

/// Publishes while there is too little room, and once more when there is enough; returns the code of the first run.
fn publish_in(room: u64, disk: &Disk, folder: &Path, python: &Path) -> Option<i32> {
    let ballast = Ballast::leaving(room, disk);
    let full = publish(folder);
    // Without room for a package of changes alone, the rest is published (O727).
    assert!(matches!(full.code, Some(0 | 3 | 8)), "{room}: {:?} {}{}", full.code, full.stdout, full.stderr);
    if folder.join(".well-known/resourcesync").exists() {
        verify(python, folder, &["--structure"]);
    }
    drop(ballast);
    let _ = publish(folder).with_code(0);
    verify(python, folder, &["--tree", "."]);
    full.code
}

#[test]
fn d41_documents_on_a_full_disk_stay_right_and_are_finished_once_there_is_room() {
    let Some([python]) = peers::find(["python3"]) else { return };
    let Some(disk) = Disk::mount("32m") else { return };
    let mut full = 0;
    for room in [64, 200, 400, 700, 1_200, 1_900] {
        let folder = disk.path().join(format!("files-{room}"));
        for number in 0..RESOURCES {
            fs::create_dir_all(folder.join(path(number)).parent().unwrap()).unwrap();
            fs::write(folder.join(path(number)), bytes(number, 0)).unwrap();
        }
        full += usize::from(publish_in(room * KIB, &disk, &folder, &python) != Some(0));
        for number in 0..RESOURCES {
            match number % 8 {
                0 => fs::remove_file(folder.join(path(number))).unwrap(),
                _ => fs::write(folder.join(path(number)), bytes(number, 1)).unwrap(),
            }
        }
        full += usize::from(publish_in(room * KIB, &disk, &folder, &python) != Some(0));
        fs::remove_dir_all(folder).unwrap();
    }
    assert!(full > 4, "{full} of 12 publications met a full disk");
}
