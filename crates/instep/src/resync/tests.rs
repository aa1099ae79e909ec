//! Tests of the translation: command lines of the reference client, each beside the equivalent one of this program.

use std::ffi::OsString;

use super::{command, explorer::ResyncExplorer, sync::ResyncSync, translate, translation::Translated};

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn sync(line: &str) -> Result<Translated, String> {
    let translated = translate::<ResyncSync>("resync-sync", &words(line), ResyncSync::translate);
    translated.map_err(|error| error.to_string())
}

#[test]
fn a_command_line_is_translated_into_the_equivalent_one() {
    for (line, expected) in [
        ("-b http://example.com/ copy", "sync http://example.com/ copy"),
        ("--baseline --delete http://example.com copy", "sync http://example.com/ copy --delete"),
        ("--base http://example.com/a/b/", "sync http://example.com/a/b/ example.com_a_b"),
        ("-b http://example.com=/srv/copy", "sync http://example.com/ /srv/copy"),
        (
            "-b -n -v --tries 3 -T 20 --delay 0.5 --strictauth http://example.com copy",
            "sync http://example.com/ copy --dry-run --strict-origin --rate=7200/h --retries=2 --timeout=20s --verbose",
        ),
        (
            "-b --sitemap http://example.com/rs/list.xml http://example.com/data copy",
            "sync http://example.com/rs/list.xml copy --map=http://example.com/data=.",
        ),
        (
            "-b http://example.com/a=copy/one http://example.com/b=copy/two",
            "sync http://example.com/a/ copy --map=http://example.com/a=one --map=http://example.com/b=two",
        ),
        (
            "-i --from 2013-01-02T00:00:00Z http://example.com copy",
            "sync http://example.com/ copy --since=2013-01-02T00:00:00Z",
        ),
        (
            "--inc --changelist-uri http://example.com/changes.xml http://example.com copy",
            "sync http://example.com/changes.xml copy",
        ),
        (
            "--baseline --capabilitylist http://example.com/caps.xml http://example.com copy",
            "sync http://example.com/caps.xml copy",
        ),
        (
            "-b --hash md5 --checksum --ignore-failures --spec-version 1.0 http://example.com copy",
            "sync http://example.com/ copy",
        ),
        ("-a http://example.com copy", "audit http://example.com/ copy"),
        ("-p --sitemap http://example.com/list.xml", "explore http://example.com/list.xml"),
    ] {
        assert_eq!(
            sync(line).map(|translated| translated.arguments.join(" ")),
            Ok(expected.to_owned()),
            "{line}"
        );
    }
}

#[test]
fn o783_a_baseline_over_a_copy_fetches_files_again_that_somebody_removed_or_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let translated = |mode: &str| {
        let line = format!("{mode} http://example.com {}", folder.path().display());
        sync(&line).unwrap().arguments[3..].join(" ")
    };
    assert_eq!((translated("-b").as_str(), translated("-i").as_str()), ("", ""));
    std::fs::create_dir(folder.path().join(".instep")).unwrap();
    assert_eq!((translated("-b").as_str(), translated("-i").as_str()), ("--repair", ""));
}

#[test]
fn an_option_without_a_counterpart_is_refused_with_a_reason() {
    for (option, reason) in [
        ("--noauth", "--allow-origin"),
        ("--exclude .*tmp", "regular expressions"),
        ("--multifile", "always read"),
        ("--logger", "standard error"),
        ("--logfile x", "standard error"),
        ("--eval", "--events"),
        ("--empty", "resync-build"),
        ("--reference x", "resync-build"),
        ("--max-sitemap-entries 3", "limits"),
        ("--delay -1", "not a number of seconds"),
    ] {
        let error =
            sync(&format!("-b {} http://example.com copy", option.replace(" -1", "=-1"))).unwrap_err();
        let name = option.split(' ').next().unwrap_or_default();
        assert!(error.contains(name) && error.contains(reason), "{option}: {error}");
    }
}

#[test]
fn o1058_a_document_without_a_scheme_is_not_requested_from_a_host_with_its_name() {
    let changes = sync("-i --changelist-uri changes.xml http://example.com/data copy").unwrap();
    assert_eq!(changes.arguments[..2].join(" "), "sync http://example.com/data/changes.xml");
    for line in [
        "-b --access-token secret --sitemap list.xml http://example.com copy",
        "-a --capabilitylist caps.xml http://example.com copy",
        "-p --sitemap list.xml",
    ] {
        let error = sync(line).unwrap_err();
        assert!(error.contains("is not a URI; write one such as https://example.org/"), "{line}: {error}");
    }
    let line = words("--sitemap list.xml");
    let refused = translate::<ResyncExplorer>("resync-explorer", &line, ResyncExplorer::translate);
    assert!(refused.unwrap_err().to_string().contains("--sitemap: \"list.xml\" is not a URI"));
}

#[test]
fn exactly_one_mode_and_a_folder_for_each_uri_are_required() {
    for line in
        ["http://example.com copy", "-b -i http://example.com copy", "-b", "-b http://example.com=a http://b"]
    {
        assert!(sync(line).is_err(), "{line}");
    }
    let apart = sync("-b http://example.com/a=/srv/one http://example.com/b=/home/two").unwrap_err();
    assert!(apart.contains("no folder in common"), "{apart}");
}

#[test]
fn a_token_does_not_appear_in_the_arguments_of_the_command() {
    let translated = sync("-b --access-token secret http://example.com copy").unwrap();
    assert_eq!(translated.bearer.as_deref(), Some("secret"));
    assert!(!translated.arguments.iter().any(|argument| argument.contains("secret")));
}

#[test]
fn the_explorer_shows_the_tree_of_a_document() {
    let line = words("--sitemap http://example.com/list.xml --verbose");
    let translated =
        translate::<ResyncExplorer>("resync-explorer", &line, ResyncExplorer::translate).unwrap();
    assert_eq!(translated.arguments.join(" "), "explore http://example.com/list.xml");
    let error = translate::<ResyncExplorer>("resync-explorer", &[], ResyncExplorer::translate).unwrap_err();
    assert!(error.to_string().contains("--sitemap URI"), "{error}");
}

#[test]
fn the_name_of_a_link_or_the_first_argument_says_which_program_is_meant() {
    for (line, expected) in [
        ("/usr/bin/resync-sync -b http://a", Some("resync-sync")),
        ("instep resync-build --write-resourcelist", Some("resync-build")),
        ("instep resync-explorer", Some("resync-explorer")),
        ("instep sync resync-sync", None),
        ("instep", None),
    ] {
        assert_eq!(command(&words(line)).map(|(name, _)| name), expected, "{line}");
    }
    assert_eq!(command(&words("resync-sync -b x")).map(|(_, rest)| rest.len()), Some(2));
}
