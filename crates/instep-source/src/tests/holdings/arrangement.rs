//! Resources that change their set, or the folder that serves their URI.

use std::fs;

use super::folder::Folder;
use crate::Content;

#[test]
fn a_resource_that_enters_or_leaves_a_set_is_created_or_deleted_there() {
    let mut folder = Folder::new();
    folder.add_set(&["*.pdf"]);
    folder.write("a.pdf", "1");
    folder.write("b.txt", "2");
    folder.scan();
    let sets: Vec<u64> = folder.resources().iter().map(|resource| resource.sets).collect();
    assert_eq!(sets, [0b11, 0b01]);
    folder.replace_sets(&[&["*.txt"], &["*.pdf", "*.txt"]]);
    folder.scan();
    assert_eq!(folder.log_of(0b01), ["deleted a.pdf"]);
    assert_eq!(folder.log_of(0b10), ["created b.txt"]);
}

#[test]
fn several_roots_have_their_own_prefixes_and_the_inner_one_hides_the_outer() {
    let mut folder = Folder::new();
    folder.write("a", "1");
    folder.write("inner/hidden", "2");
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("c"), "3").unwrap();
    let content = Content::Folder { root: other.path().to_owned(), prefix: Some("inner".to_owned()) };
    folder.add_content(content);
    folder.scan();
    assert_eq!(folder.uris(), ["a", "inner/c"]);
    folder.remove_content();
    folder.scan();
    assert_eq!(folder.log(), ["created inner/hidden", "deleted inner/c"]);
}

#[test]
fn o729_a_uri_that_moves_to_content_of_fewer_sets_is_deleted_only_in_those_that_it_leaves() {
    let mut folder = Folder::new();
    folder.add_set(&["*.pdf"]);
    folder.write("sub/a.pdf", "1");
    folder.scan();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("a.pdf"), "1").unwrap();
    let (root, prefix) = (elsewhere.path().to_owned(), Some("http://x/sub/".to_owned()));
    folder.add_content(Content::Folder { root, prefix });
    folder.scan();
    assert_eq!(folder.uris(), ["sub/a.pdf"]);
    assert_eq!(folder.log_of(0b01), ["created sub/a.pdf"]);
    assert_eq!(folder.log_of(0b10), ["deleted sub/a.pdf"]);
}

#[test]
fn a_uri_that_moves_to_other_content_is_never_announced_as_deleted() {
    let mut folder = Folder::new();
    let elsewhere = tempfile::tempdir().unwrap();
    for number in 0..300 {
        folder.write(&format!("sub/{number}"), "of the folder");
        fs::write(elsewhere.path().join(number.to_string()), "of the other folder").unwrap();
    }
    folder.scan();
    let other =
        Content::Folder { root: elsewhere.path().to_owned(), prefix: Some("http://x/sub/".to_owned()) };
    folder.add_content(other);
    folder.scan();
    folder.remove_content();
    folder.scan();
    let changes = folder.changes();
    assert_eq!(changes.len(), 600);
    assert!(changes.iter().all(|change| change.change.as_str() != "deleted"));
    assert_eq!(folder.uris().len(), 300);
    folder.check();
}
