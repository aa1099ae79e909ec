//! Names that clash: the result does not depend on the order of arrival.

use std::sync::Arc;

use crate::store::MemoryStore;

use super::bench::{Copy, both_stores, open};

/// Returns every order of some values.
fn orders<T: Clone>(things: &[T]) -> Vec<Vec<T>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for index in 0..things.len() {
        let mut rest = things.to_vec();
        let first = rest.remove(index);
        all.extend(orders(&rest).into_iter().map(|mut order| {
            order.insert(0, first.clone());
            order
        }));
    }
    all
}

/// Fills a copy with resources in an order, each in a group of its own or all in one.
fn fill(copy: &mut Copy, order: &[&str], groups: bool) {
    for uri in order {
        copy.add(uri, uri.as_bytes());
        if groups {
            copy.flush();
        }
    }
    copy.flush();
}

#[test]
fn d5_a_uri_and_those_below_it_get_the_same_names_in_every_order() {
    let uris = ["http://h/a", "http://h/a/", "http://h/a/b", "http://h/a/b/c"];
    let expected = ["a/%40body", "a/%40index", "a/b/%40body", "a/b/c"];
    for order in orders(&uris) {
        for groups in [false, true] {
            for (store, dir) in both_stores() {
                let mut copy = open(store, &dir.path().join("state.sqlite"), None);
                fill(&mut copy, &order, groups);
                let contents = copy.contents();
                let paths: Vec<_> = contents.iter().map(|(_, path, _)| path.as_str()).collect();
                assert_eq!(paths, expected, "{order:?} {groups}");
                assert!(contents.iter().all(|(uri, _, bytes)| uri.as_bytes() == bytes));
                copy.add("http://h/a", b"new");
                copy.flush();
                assert_eq!(copy.contents()[0].2, b"new");
            }
        }
    }
}

#[test]
fn d5_a_file_may_make_room_and_change_in_one_group() {
    for (store, dir) in both_stores() {
        let mut copy = open(store, &dir.path().join("state.sqlite"), None);
        copy.add("http://h/a", b"old");
        copy.flush();
        copy.add("http://h/a/b", b"b");
        copy.add("http://h/a", b"new");
        copy.flush();
        let contents: Vec<_> = copy.contents().into_iter().map(|(_, path, bytes)| (path, bytes)).collect();
        assert_eq!(contents, [("a/%40body".to_owned(), b"new".to_vec()), ("a/b".to_owned(), b"b".to_vec())]);
        copy.delete("http://h/a");
        copy.delete("http://h/a/b");
        copy.add("http://h/a/b/c", b"c");
        copy.flush();
        let contents: Vec<_> = copy.contents().into_iter().map(|(_, path, _)| path).collect();
        assert_eq!(contents, ["a/b/c"]);
    }
}

#[test]
fn d7_names_that_clash_are_told_apart_in_every_order() {
    let uris =
        ["http://h/A.txt", "http://h/a.TXT", "http://h/x/%C3%A9", "http://h/x/e%CC%81", "http://h/X/E%CC%81"];
    let mut names = Vec::new();
    for order in orders(&uris) {
        for groups in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let mut copy = open(Arc::new(MemoryStore::folding()), &dir.path().join("state.sqlite"), None);
            fill(&mut copy, &order, groups);
            let contents = copy.contents();
            assert!(contents.iter().all(|(uri, _, bytes)| uri.as_bytes() == bytes), "{order:?} {groups}");
            let paths: Vec<_> = contents.into_iter().map(|(_, path, _)| path).collect();
            assert!(paths.iter().all(|path| path.contains("%40%40")), "{order:?} {groups} {paths:?}");
            names.push(paths);
        }
    }
    assert!(names.iter().all(|paths| *paths == names[0]));
}

#[test]
fn o420_a_file_makes_room_for_a_folder_that_is_written_otherwise() {
    for order in orders(&["http://h/DIR", "http://h/Dir/x"]) {
        for groups in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let mut copy = open(Arc::new(MemoryStore::folding()), &dir.path().join("state.sqlite"), None);
            fill(&mut copy, &order, groups);
            let contents = copy.contents();
            assert!(contents.iter().all(|(uri, _, bytes)| uri.as_bytes() == bytes), "{order:?} {groups}");
            let paths: Vec<_> = contents.iter().map(|(_, path, _)| path.as_str()).collect();
            // Not `Dir/%40body`: a folder `Dir` cannot be made beside the file `DIR`.
            assert_eq!(paths, ["DIR/%40body", "Dir/x"], "{order:?} {groups}");
        }
    }
}

#[test]
fn uris_that_are_one_but_for_spelling_never_share_a_file() {
    for groups in [false, true] {
        for (store, dir) in both_stores() {
            let mut copy = open(store, &dir.path().join("state.sqlite"), None);
            for uri in ["http://h/~x", "http://h/%7Ex", "http://h/%7ex", "http://h/d/y", "http://h/%64/y"] {
                copy.add(uri, uri.as_bytes());
                if groups {
                    copy.flush();
                }
            }
            copy.flush();
            let contents = copy.contents();
            assert_eq!(contents.len(), 5);
            assert!(contents.iter().all(|(uri, _, bytes)| uri.as_bytes() == bytes), "{groups} {contents:?}");
        }
    }
}
