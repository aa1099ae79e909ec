//! Symbolic links in a copy: none is followed, whenever it appears.

use std::{
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    commit::{Commit, NewFile},
    map::CopyPath,
    plan::{Desired, Retrieval},
    store::{FolderOptions, FolderStore, StoreError, digest_file},
};

use super::bench::{SHA256, open_folder, uri};

#[test]
fn d3_a_planted_link_is_not_followed_and_costs_only_its_own_resources() {
    let dir = tempfile::tempdir().unwrap();
    let (copy_path, outside) = (dir.path().join("copy"), dir.path().join("outside"));
    std::fs::create_dir_all(copy_path.join("real")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("target"), b"theirs").unwrap();
    symlink(&outside, copy_path.join("d")).unwrap();
    symlink(&outside, copy_path.join("real/deep")).unwrap();
    symlink(outside.join("target"), copy_path.join("f")).unwrap();
    let mut copy = open_folder(&copy_path);
    for uri in ["http://h/d/x", "http://h/d/e/x", "http://h/real/deep/x", "http://h/f", "http://h/real/ok"] {
        copy.add(uri, b"ours");
    }
    let flushed = copy.flush();
    let refused: Vec<_> = flushed.refused.iter().map(|(uri, _)| uri.as_str()).collect();
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert_eq!(copy.committer.state().owed_count().unwrap(), 4);
    assert_eq!(copy.contents().len(), 1);
    assert_eq!(std::fs::read(outside.join("target")).unwrap(), b"theirs");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    // The link itself stays too (B31): instep did not make it.
    assert!(std::fs::symlink_metadata(copy_path.join("f")).unwrap().is_symlink());
}

#[test]
fn o525_a_version_that_something_blocks_is_requested_again_only_at_a_place_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (copy_path, outside) = (dir.path().join("copy"), dir.path().join("outside"));
    std::fs::create_dir(&copy_path).unwrap();
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, copy_path.join("d")).unwrap();
    let mut copy = open_folder(&copy_path);
    // One is from a link to it, the other one a copy of what was held.
    for place in [Some("http://h/versions/1"), None] {
        let name = if place.is_some() { "1" } else { "2" };
        let Commit::File(file) = copy.new_file(&format!("http://h/d/{name}"), b"former") else { panic!() };
        let mut desired = Desired::new(uri(&format!("http://h/a#{name}")));
        desired.set_retrieval(Retrieval { lies_at: place.map(str::to_owned), ..Retrieval::default() });
        let file = NewFile { uri: desired.uri, retrieval: desired.retrieval, ..file };
        copy.committer.add(Commit::File(file)).unwrap();
    }
    assert_eq!(copy.flush().refused.len(), 2);
    let owed = copy.committer.state().owed_after(copy.set, None, 9).unwrap();
    let places: Vec<_> = owed.iter().map(|owed| owed.desired.retrieval().lies_at.as_deref()).collect();
    assert_eq!(places, [Some("http://h/versions/1")]);
}

#[test]
fn d3_what_is_reached_through_a_link_is_neither_read_nor_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (copy_path, outside) = (dir.path().join("copy"), dir.path().join("outside"));
    let mut copy = open_folder(&copy_path);
    copy.add("http://h/d/x", b"ours");
    copy.flush();
    std::fs::rename(copy_path.join("d"), &outside).unwrap();
    symlink(&outside, copy_path.join("d")).unwrap();
    let path = CopyPath::from_state("d/x").unwrap();
    assert!(matches!(digest_file(&*copy.store, &path, &SHA256), Err(StoreError::Blocked { .. })));
    copy.delete("http://h/d/x");
    assert_eq!(copy.flush().refused.len(), 1);
    assert!(outside.join("x").exists());
    assert_eq!(copy.committer.state().owed_count().unwrap(), 1);
}

#[test]
fn d3_our_own_folder_is_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let (copy_path, outside) = (dir.path().join("copy"), dir.path().join("outside"));
    std::fs::create_dir(&copy_path).unwrap();
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, copy_path.join(".instep")).unwrap();
    let refused = FolderStore::open(&copy_path, FolderOptions::new());
    assert!(matches!(refused, Err(StoreError::Blocked { .. })), "{refused:?}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_planted_pipe_does_not_hold_a_reader_up() {
    let dir = tempfile::tempdir().unwrap();
    let copy = open_folder(dir.path());
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let path = CopyPath::from_state("pipe").unwrap();
    assert!(matches!(copy.store.read(&path).map(|_| ()), Err(StoreError::Blocked { .. })));
}

#[test]
fn d4_a_folder_swapped_for_a_link_during_the_run_lets_nothing_out() {
    let dir = tempfile::tempdir().unwrap();
    let (copy_path, outside) = (dir.path().join("copy"), dir.path().join("outside"));
    std::fs::create_dir_all(copy_path.join("d")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, copy_path.join("link")).unwrap();
    let ends = Arc::new(AtomicBool::new(false));
    let (ending, swapped) = (Arc::clone(&ends), copy_path.clone());
    let swapper = std::thread::spawn(move || {
        let mut swaps = 0_u32;
        while !ending.load(Ordering::Relaxed) {
            let cwd = rustix::fs::CWD;
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(cwd, swapped.join("d"), cwd, swapped.join("link"), exchange).unwrap();
            swaps += 1;
        }
        swaps
    });
    let mut copy = open_folder(&copy_path);
    let mut done = 0;
    for round in 0..40 {
        for number in 0..50 {
            copy.add(&format!("http://h/d/{round}-{number}"), b"ours");
        }
        done += copy.flush().committed.len();
    }
    ends.store(true, Ordering::Relaxed);
    assert!(swapper.join().unwrap() > 0);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "{done} of 2,000 were committed");
}

#[test]
fn d9_long_and_deep_paths_are_stored_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    let uris = [format!("http://h/{}", "x".repeat(5_000)), format!("http://h/{}end", "segment/".repeat(500))];
    for uri in &uris {
        copy.add(uri, uri.as_bytes());
    }
    assert_eq!(copy.flush().committed.len(), 2);
    assert!(copy.contents().iter().all(|(uri, _, bytes)| uri.as_bytes() == bytes));
    for uri in &uris {
        copy.delete(uri);
    }
    copy.flush();
    assert_eq!(copy.store.kind("segment").unwrap(), None);
}
