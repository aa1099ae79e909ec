//! Names beneath a folder in which an attacker placed links.

use std::{fs, io::Read as _, os::unix::fs::symlink, sync::atomic::Ordering};

use super::{NameKind, RootFolder};
use crate::Obstacle;

fn obstacle<T>(result: std::io::Result<T>) -> Option<Obstacle> {
    Obstacle::of(&result.err()?)
}

#[test]
fn d3_s1_links_are_refused_whether_the_kernel_resolves_beneath_or_not() {
    for resolves_beneath in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (top, outside) = (dir.path().join("top"), dir.path().join("outside"));
        fs::create_dir_all(top.join("real/deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), b"theirs").unwrap();
        fs::write(top.join("real/deep/file"), b"ours").unwrap();
        symlink(&outside, top.join("link")).unwrap();
        symlink(outside.join("secret"), top.join("real/secret")).unwrap();
        let root = RootFolder::open(&top).unwrap();
        root.resolves_beneath.store(resolves_beneath, Ordering::Relaxed);
        let mut text = String::new();
        root.file("real/deep/file").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "ours");
        assert!(root.folder("real/deep").is_ok() && root.folder("real/deep/").is_ok());
        assert!(root.folder("").is_ok() && root.root("real").unwrap().file("deep/file").is_ok());
        root.make_folder("real/new/deeper", 0o777, &mut |_| {}).unwrap();
        assert_eq!(root.kind("real/new/deeper").unwrap(), Some(NameKind::Folder));
        assert_eq!(root.kind("real/none/file").unwrap(), None);
        assert_eq!(root.kind("link").unwrap(), Some(NameKind::Other));
        for refused in ["link/secret", "real/secret", "link"] {
            assert!(root.entry(refused).is_err() && root.file(refused).is_err(), "{refused}");
        }
        for outside in ["../outside/secret", "real/../../outside/secret", "/etc/passwd"] {
            assert!(root.entry(outside).is_err(), "{outside}");
        }
        assert!(obstacle(root.folder("link")).is_some());
        assert!(obstacle(root.make_folder("link/x", 0o777, &mut |_| {})).is_some());
        assert!(obstacle(root.remove_file("link/secret")).is_some());
        assert_eq!(obstacle(root.file("real")), Some(Obstacle::Folder));
        root.remove_file("real/secret").unwrap();
        root.remove_file("real/secret").unwrap();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}

#[test]
fn paths_longer_than_one_system_call_takes_are_walked() {
    let dir = tempfile::tempdir().unwrap();
    let root = RootFolder::open(dir.path()).unwrap();
    let path = ["folder-of-a-deep-tree"; 400].join("/");
    let mut made = Vec::new();
    root.make_folder(&path, 0o777, &mut |folder| made.push(folder.to_owned())).unwrap();
    assert_eq!((made.len(), made.last()), (400, Some(&path)));
    assert_eq!(root.kind(&path).unwrap(), Some(NameKind::Folder));
    assert_eq!(obstacle(root.folder("x".repeat(5_000))), Some(Obstacle::NameTooLong));
}
