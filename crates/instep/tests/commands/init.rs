//! The configuration that `instep init` writes: it can be used as it is.

use std::fs;

use instep_testkit::wait_until;

use crate::support::{ServedSource, folder, output_of, run, shell};

#[test]
fn init_writes_a_configuration_that_publishes_and_never_replaces_one() {
    let folder = folder(&[("data/a.txt", "a"), ("data/drafts/b.txt", "b"), ("data/c.tmp", "c")]);
    let told = run(folder.path(), &["init", "data"], 0);
    assert!(told.contains("instep serve data"), "{told}");
    let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
    assert!(written.contains("3 files") && written.contains("\"drafts\""), "{written}");
    run(folder.path(), &["init", "data"], 2);
    run(folder.path(), &["publish", "data"], 0);
    let list = fs::read_to_string(folder.path().join("data/resourcesync/resourcelist.xml")).unwrap();
    assert!(list.contains("https://example.org/a.txt"), "{list}");
    assert!(!list.contains("drafts") && !list.contains("c.tmp"), "{list}");
}

#[test]
fn init_keeps_the_base_url_of_what_was_published() {
    let folder = folder(&[("data/a.txt", "a")]);
    run(folder.path(), &["publish", "data", "--base-url", "https://museum.example/prints/"], 0);
    let base_url = || {
        run(folder.path(), &["init", "data", "--force"], 0);
        let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
        written.lines().find(|line| line.starts_with("base-url")).unwrap().to_owned()
    };
    assert_eq!(base_url(), "base-url = \"https://museum.example/prints/\"");
    run(folder.path(), &["publish", "data"], 0);
    // Without the state, as on the host of a web server, the documents still have the base URL.
    fs::remove_dir_all(folder.path().join("data/.instep")).unwrap();
    assert_eq!(base_url(), "base-url = \"https://museum.example/prints/\"");
}

#[test]
fn init_writes_a_configuration_for_a_copy_of_what_a_source_offers() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    run(folder.path(), &["init", url], 0);
    let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
    assert!(written.contains("2 resources, 2 B") && written.contains("resourcelist"), "{written}");
    run(folder.path(), &["sync", url, "copy"], 0);
    assert_eq!(fs::read_to_string(folder.path().join("copy/b.txt")).unwrap(), "b");
}

#[test]
fn o753_init_does_not_count_the_resources_of_lists_in_an_archive() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    let options = ["--archives", "--snapshot-every", "0s"];
    let ServedSource { url, .. } = &ServedSource::with_options(folder.path(), &options);
    fs::write(folder.path().join("data/c.txt"), "c").unwrap();
    let documents = folder.path().join("data/.instep/documents/resourcesync");
    let has =
        |name: &str, part: &str| fs::read_to_string(documents.join(name)).is_ok_and(|it| it.contains(part));
    wait_until("the first list is archived", || {
        has("resourcelist.xml", "c.txt") && has("resourcelist-archive.xml", "<loc>")
    });
    let written = run(folder.path(), &["init", url, "--out", "-"], 0);
    assert!(written.contains("3 resources, 3 B"), "{written}");
}

#[test]
fn o754_init_names_its_file_in_commands_that_do_not_find_it_by_themselves() {
    let folder = folder(&[("data/a.txt", "a")]);
    for (out, command) in [
        ("instep.toml", "  instep serve data\n"),
        ("my source.toml", "  instep serve data --config 'my source.toml'\n"),
    ] {
        let said = run(folder.path(), &["init", "data", "--out", out], 0);
        assert!(said.contains(command), "{said}");
    }
    let written = fs::read_to_string(folder.path().join("my source.toml")).unwrap();
    assert!(written.contains("instep publish data --config 'my source.toml' --dry-run"), "{written}");
}

#[test]
fn o574_init_after_a_trial_at_another_port_writes_the_address_that_readers_ask() {
    for (base, listen) in [
        ("http://127.0.0.1:18492/", "127.0.0.1:18492"),
        ("http://localhost:81/letters/", "127.0.0.1:81"),
        ("http://[::1]:82/", "[::1]:82"),
        ("http://museum.example:83/", "127.0.0.1:8080"),
    ] {
        let folder = folder(&[("data/a.txt", "a")]);
        run(folder.path(), &["publish", "data", "--base-url", base], 0);
        run(folder.path(), &["init", "data"], 0);
        let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
        assert!(written.contains(&format!("\nlisten = {listen:?}\n")), "{base}: {written}");
    }
}

#[test]
fn o892_init_on_a_full_disk_leaves_no_part_of_a_configuration_and_replaces_none() {
    let folder = folder(&[("data/a.txt", "a"), ("mine.toml", "# mine\n")]);
    // The limit of the size of files is less than any configuration.
    let limited = |arguments: &[&str]| {
        output_of(shell(folder.path(), "ulimit -f 1; exec \"$@\"", arguments), 8);
    };
    limited(&["init", "data"]);
    assert!(!folder.path().join("instep.toml").exists());
    limited(&["init", "data", "--out", "mine.toml", "--force"]);
    assert_eq!(fs::read_to_string(folder.path().join("mine.toml")).unwrap(), "# mine\n");
    run(folder.path(), &["init", "data", "--out", "mine.toml", "--force"], 0);
    assert!(fs::read_to_string(folder.path().join("mine.toml")).unwrap().contains("[publish]"));
}
