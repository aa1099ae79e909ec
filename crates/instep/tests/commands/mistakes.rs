//! Mistakes in `instep.toml`: each is reported in one line with the file, the line and advice.

use std::fs;

use crate::support::{folder, run};

/// Returns the error of a command for a configuration file, which must be one line with its place.
fn said(text: &str, arguments: &[&str]) -> String {
    let folder = folder(&[("data/a.txt", "a"), ("instep.toml", text)]);
    let said = run(folder.path(), arguments, 2);
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains("instep.toml line "), "{said}");
    said
}

#[test]
fn o200_a_mistake_in_the_file_is_one_line_with_its_place_and_what_to_write() {
    const PUBLISH: [&str; 4] = ["publish", "data", "--base-url", "http://x.example/"];
    const SYNC: [&str; 3] = ["sync", "http://127.0.0.1:1/", "copy"];
    for (text, arguments, line, part) in [
        ("\n[publsh]\n", &PUBLISH[..], 2, "did you mean publish?"),
        ("[publish]\n\nbase_url = 'http://x/'\n", &PUBLISH, 3, "did you mean base-url?"),
        ("[publish]\nexcludes = ['a']\n", &PUBLISH, 2, "has no key excludes; did you mean exclude?"),
        ("\npublish = 5\n", &PUBLISH, 2, "write its options below a line [publish]"),
        ("[publish]\ngzip = 'yes'\n", &PUBLISH, 2, "write true or false, without quotes"),
        ("[publish]\nexclude = [['a']]\n", &PUBLISH, 2, "write a string"),
        ("[publish]\nmax-delete = -5\n", &PUBLISH, 2, "write a number of resources"),
        ("[sync]\ndelete = 1\n", &SYNC, 2, "write true or false, without quotes"),
        ("[sync]\ntransfers = true\n", &SYNC, 2, "write a value"),
        ("[sync]\ntransfers = false\n", &SYNC, 2, "write a value"),
        ("[sync]\ntransfers = 'many'\n", &SYNC, 2, "invalid value 'many'"),
        ("[publish\n", &PUBLISH, 1, "is not TOML"),
        ("[publish]\nexclude = \"a\n\"\n", &PUBLISH, 2, "is not TOML"),
        ("\n[set]\nname = 'a'\n", &PUBLISH, 2, "write [[set]], with two brackets"),
        ("[[set]]\nname = 'a'\nnme = 'a'\n", &PUBLISH, 3, "unknown field `nme`"),
        ("[[set]]\nname = 5\n", &PUBLISH, 2, "write a text in quotes"),
        ("\n[[set]]\ncontent = 'a'\n", &PUBLISH, 2, "missing field `name`"),
        ("\n[[link]]\nresource = '*'\n", &PUBLISH, 2, "missing field `rel`"),
        ("\n[[changefreq]]\nresource = '*'\nfrequency = 'often'\n", &PUBLISH, 2, "write auto"),
        ("\n[[coded]]\nresource = '*'\ncoding = 'br'\n", &PUBLISH, 2, "write gzip"),
        ("\n[[generic]]\nresource = 'a/*'\nspecific = []\n", &PUBLISH, 2, "specific is empty"),
        ("\n[[credentials]]\n", &SYNC, 2, "write [credentials.\"https://HOST\"]"),
        ("[credentials]\n\"https://x\" = 5\n", &SYNC, 2, "write keys with strings"),
    ] {
        let said = said(text, arguments);
        assert!(said.contains(&format!("line {line}")) && said.contains(part), "{text}: {said}");
    }
}

#[test]
fn o319_only_a_name_that_is_nearly_the_written_one_is_suggested() {
    const SYNC: [&str; 3] = ["sync", "http://127.0.0.1:1/", "copy"];
    for (text, part) in [
        ("[sync]\nurl = 'http://x/'\n", "[sync] has no key url\n"),
        ("[sync]\nx = 1\n", "[sync] has no key x\n"),
        ("[sync]\ntranfers = 1\n", "did you mean transfers?"),
        ("[sync]\nbackup = 'x'\n", "did you mean backup-dir?"),
        ("[watch]\n", "there is no command watch to configure\n"),
    ] {
        let said = said(text, &SYNC);
        assert!(said.contains(part), "{text}: {said}");
    }
    let folder = folder(&[]);
    for (word, tip) in
        [("list", None), ("repair", None), ("synk", Some("'sync'")), ("publsh", Some("'publish'"))]
    {
        let said = run(folder.path(), &[word], 2);
        assert_eq!(tip.is_some(), said.contains("tip: "), "{said}");
        assert!(said.contains(tip.unwrap_or_default()), "{said}");
    }
}

#[test]
fn o321_the_name_of_a_set_that_cannot_be_used_is_shown_with_its_line() {
    const PUBLISH: [&str; 4] = ["publish", "data", "--base-url", "http://x.example/"];
    for (text, line, part) in [
        ("\n[[set]]\nname = 'a b/c'\n", 2, "\"a b/c\" is not a name"),
        ("[[set]]\nname = 'a'\n[[set]]\nname = 'a'\n", 3, "a set before it has the name \"a\" too"),
    ] {
        let said = said(text, &PUBLISH);
        assert!(said.contains(&format!("line {line}")) && said.contains(part), "{text}: {said}");
    }
}

#[test]
fn o691_the_folder_of_a_set_that_is_missing_or_a_file_is_shown_with_its_line() {
    const PUBLISH: [&str; 4] = ["publish", "data", "--base-url", "http://x.example/"];
    for content in ["papers", "a.txt"] {
        let said = said(&format!("\n[[set]]\nname = 'a'\ncontent = '{content}'\n"), &PUBLISH);
        assert!(said.contains(&format!("line 2: [[set]]: data/{content} is not a folder")), "{said}");
    }
}

#[test]
fn o331_a_key_outside_of_any_table_and_a_huge_number_are_one_line_with_what_to_write() {
    const SYNC: [&str; 3] = ["sync", "http://127.0.0.1:1/", "copy"];
    for (text, part) in [
        ("\nmax-age = '1h'\n", "line 2: max-age stands in no table; write it below a line [sync]"),
        ("[sync]\ntransfers = 99999999999999999999999\n", "line 2 is not TOML"),
        ("[sync]\nhelp = true\n", "no file sets help; use --help\n"),
    ] {
        let said = said(text, &SYNC);
        assert!(said.contains(part), "{text}: {said}");
    }
}

#[test]
fn o201_a_key_that_serve_takes_from_the_table_of_publish_is_checked_too() {
    let said = said("[publish]\nmax-delet = 5\n", &["serve", "data", "--listen", "127.0.0.1:0"]);
    assert!(said.contains("[publish] has no key max-delet; did you mean max-delete?"), "{said}");
    // A key of `sync` that `audit` does not have is ignored by `audit`.
    let folder = folder(&[("instep.toml", "[sync]\ndelete = true\n")]);
    let said = run(folder.path(), &["audit", "http://127.0.0.1:1/", "copy"], 2);
    assert!(said.contains("holds no copy"), "{said}");
}

#[test]
fn o200_a_file_with_the_name_of_a_command_is_not_taken_for_it() {
    let folder = folder(&[("data/a.txt", "a"), ("sync", "[publish]\nbase-url = 'http://x.example/'\n")]);
    run(folder.path(), &["--config", "sync", "publish", "data"], 0);
    assert!(folder.path().join("data/resourcesync/resourcelist.xml").exists());
}

#[test]
fn o202_init_names_a_folder_so_that_the_file_and_its_commands_can_be_used() {
    let name = "my \"prints\"\n[sync] it's";
    let folder = folder(&[(&format!("{name}/a.txt"), "a")]);
    let said = run(folder.path(), &["init", name], 0);
    assert!(said.contains(r#"instep serve $'my "prints"\n[sync] it\'s'"#), "{said}");
    let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
    assert!(written.lines().all(|line| !line.starts_with("[sync]")), "{written}");
    run(folder.path(), &["publish", name], 0);
}

#[test]
fn o369_init_writes_to_standard_output_and_its_commands_work_for_any_name() {
    let name = "a\nb\\c\u{7}'d";
    let folder = folder(&[(&format!("{name}/a.txt"), "a")]);
    let said = run(folder.path(), &["init", name, "--out", "-"], 0);
    assert!(said.contains("[publish]") && !folder.path().join("-").exists(), "{said}");
    let said = run(folder.path(), &["init", name], 0);
    let word = said.lines().find_map(|line| line.trim().strip_prefix("instep serve ")).unwrap();
    let shell =
        std::process::Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap();
    assert_eq!(String::from_utf8(shell.stdout).unwrap(), name);
}
