//! The examples do what they say.

#[path = "../examples/place.rs"]
#[expect(dead_code, reason = "its `main` is the program's")]
mod place;

#[test]
fn place_replaces_a_file_and_refuses_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    place::place(&copy, "letters/a", "one").unwrap();
    place::place(&copy, "letters/a", "two").unwrap();
    assert_eq!(std::fs::read_to_string(copy.join("letters/a")).unwrap(), "two");
    std::os::unix::fs::symlink(dir.path(), copy.join("link")).unwrap();
    assert!(place::place(&copy, "link/a", "three").is_err());
}
