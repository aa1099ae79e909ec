//! Files that are written while a scan reads them, and a scan that is killed.

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::FileExt,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    NoMonitor, PublishOptions, RecordingMonitor,
    catalogue::Catalogue,
    content::Holdings,
    publish,
    scan::{ScanOptions, scan},
};
use resourcesync::{Algorithm, Hasher};

use super::folder::Folder;

const SEVERAL_PAGES: usize = 5 * 4_096;

fn text(round: u32) -> Vec<u8> {
    format!("{round:08}").into_bytes().repeat(SEVERAL_PAGES / 8)
}

#[test]
fn s4_each_published_digest_was_that_of_the_file() {
    let folder = Folder::new();
    let names = ["a", "b", "c"];
    for name in names {
        fs::write(folder.path(name), text(0)).unwrap();
    }
    folder.scan();
    let done = AtomicBool::new(false);
    let rounds = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let files = names.map(|name| fs::File::options().write(true).open(folder.path(name)).unwrap());
            (1u32..)
                .take_while(|round| {
                    files.iter().for_each(|file| file.write_all_at(&text(*round), 0).unwrap());
                    // Leaves the file alone now and then, so that some scans find it standing still.
                    thread::sleep(std::time::Duration::from_millis(u64::from(round % 50 == 0) * 60));
                    !done.load(Ordering::Relaxed)
                })
                .count() as u32
        });
        for _ in 0..8 {
            folder.scan();
        }
        done.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    folder.scan();
    let digest = |round| {
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        hasher.update(&text(round));
        hasher.finish()
    };
    let once_true: BTreeSet<_> = (0..rounds + 2).map(digest).collect();
    assert!(folder.changes().iter().all(|change| once_true.contains(&change.state.digests)));
    folder.check();
}

/// The Source that is killed: it runs in a process of its own, which is this test again.
#[test]
fn a_scan_in_a_process_of_its_own() {
    let Some(root) = env::var_os("INSTEP_TEST_ROOT") else { return };
    let mut publish = PublishOptions::new(&root, "http://x/");
    publish.state = env::var_os("INSTEP_TEST_STATE").unwrap().into();
    let catalogue = Catalogue::open(&publish.state.join("catalogue.db")).unwrap();
    let holdings = Holdings::new(&publish, &catalogue).unwrap();
    scan(&holdings, &catalogue, &ScanOptions::new(&publish), &NoMonitor).unwrap();
}

#[test]
fn s5_a_killed_scan_is_completed_by_the_next_one() {
    const FILES: usize = 8_500;
    let mut folder = Folder::new();
    for number in 0..FILES {
        folder.write(&format!("{}/{number}", number % 7), "before");
    }
    folder.scan();
    let before = folder.known();
    for number in (0..FILES).filter(|number| number % 11 != 0) {
        folder.write(&format!("{}/{number}", number % 7), "after");
    }
    for number in (0..FILES).step_by(11) {
        folder.remove(&format!("{}/{number}", number % 7));
    }
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tests::holdings::interference::a_scan_in_a_process_of_its_own"])
        .env("INSTEP_TEST_ROOT", folder.path(""))
        .env("INSTEP_TEST_STATE", folder.catalogue.place().parent().unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let recorded = || folder.catalogue.snapshot().unwrap().head().sequence;
    while recorded() == 0 && child.try_wait().unwrap().is_none() {
        thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(recorded() > 0);
    folder.reopen();
    folder.scan();
    folder.check();
    folder.replay(before);
    assert_eq!(folder.changes().len(), FILES);
}

#[test]
fn c9_a_file_that_never_rests_is_set_aside_and_the_others_are_published() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    let busy = fs::File::create(folder.path().join("busy.log")).unwrap();
    // Hashing all of it once would take minutes.
    busy.set_len(1 << 40).unwrap();
    let done = AtomicBool::new(false);
    let monitor = RecordingMonitor::new();
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            let mut length = 1u64 << 40;
            while !done.load(Ordering::Relaxed) {
                busy.write_all_at(b"x", length).unwrap();
                length += 1;
            }
        });
        let report = publish(&PublishOptions::new(folder.path(), "http://example.org/"), &monitor);
        done.store(true, Ordering::Relaxed);
        report.unwrap()
    });
    assert_eq!((report.resources, report.skipped), (1, 1));
    let list = fs::read_to_string(folder.path().join("resourcesync/resourcelist.xml")).unwrap();
    assert!(list.contains("a.txt") && !list.contains("busy.log"), "{list}");
    let problems = monitor.seen().problems;
    assert!(
        problems.iter().any(|problem| problem.subject.ends_with("busy.log") && problem.skipped),
        "{problems:?}"
    );
}
