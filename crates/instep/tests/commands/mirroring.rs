//! Copies: filters, dry runs, audits, exports, and the lines that a run prints.

use std::{fs, path::Path, process::Output};

use serde_json::Value;

use crate::support::{ServedSource, folder, instep, run};

#[test]
fn p5_a_failed_first_run_leaves_no_folder() {
    let folder = folder(&[]);
    run(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--retries", "0"], 4);
    run(folder.path(), &["sync", "./copy", "./other"], 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn p5_a_dry_run_counts_what_it_lists_and_leaves_no_folder() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    let shown = run(folder.path(), &["sync", url, "copy", "-n"], 0);
    assert!(shown.contains("Dry run: +2 ~0 -0; 2 B to fetch;"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("+ ")).count(), 2, "{shown}");
    assert!(!folder.path().join("copy").exists());
    run(folder.path(), &["sync", url, "copy"], 0);
    let again = run(folder.path(), &["sync", url, "copy", "-n"], 0);
    assert!(again.contains("Dry run: +0 ~0 -0"), "{again}");
}

#[test]
fn p8_filters_match_the_path_and_an_empty_selection_is_reported() {
    let folder =
        folder(&[("data/letters/a.txt", "a"), ("data/letters/b.pdf", "b"), ("data/notes/c.txt", "c")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    fs::write(folder.path().join("list"), "# two\nletters/a.txt\n\nnotes/\n").unwrap();
    for (filters, copied) in [
        (&["--include", "letters/**"][..], &["letters/a.txt", "letters/b.pdf"][..]),
        (&["--include", "letters/**", "--exclude", "*.pdf"], &["letters/a.txt"]),
        (&["--files-from", "list"], &["letters/a.txt", "notes/c.txt"]),
    ] {
        let copy = tempfile::tempdir().unwrap();
        let copy = copy.path().to_str().unwrap();
        run(folder.path(), &[&["sync", url, copy], filters].concat(), 0);
        for file in ["letters/a.txt", "letters/b.pdf", "notes/c.txt"] {
            assert_eq!(Path::new(copy).join(file).exists(), copied.contains(&file), "{filters:?} {file}");
        }
    }
    let nothing = run(folder.path(), &["sync", url, "copy", "--include", "lettres/**"], 0);
    assert!(nothing.contains("3 listed, 0 selected"), "{nothing}");
}

#[test]
fn o109_paths_of_a_list_that_the_source_does_not_have_are_named() {
    let folder = folder(&[("data/letters/a.txt", "a"), ("data/letters/b.txt", "b"), ("data/c.txt", "c")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    for (number, (list, has_others)) in [
        ("\u{feff}letters/a.txt\r\n# no\r\nletters/b.txt\r\nnope.txt\r\nnone/\r\n", true),
        ("letters/a.txt\0letters/b.txt\0none/\0nope.txt\0", true),
        ("letters/\n", false),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(folder.path().join("list"), list).unwrap();
        let copy = format!("copy{number}");
        let shown = run(folder.path(), &["sync", url, &copy, "--files-from", "list"], 0);
        assert!(shown.contains("In step: +2 ~0 -0, 1 entry not selected"), "{shown}");
        let unmatched = shown.contains("2 listed paths not at the Source: none/, nope.txt");
        assert_eq!(unmatched, has_others, "{shown}");
    }
}

#[test]
fn o280_with_a_limit_no_path_is_reported_as_missing_at_the_source() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b"), ("list", "a.txt\nb.txt\n")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    let shown = run(folder.path(), &["sync", url, "copy", "--files-from", "list", "--limit", "1"], 0);
    assert!(
        shown.contains("+1 ~0 -0, 1 entry not selected") && !shown.contains("not at the Source"),
        "{shown}"
    );
}

#[test]
fn o110_a_summary_says_what_was_not_selected_and_a_dry_run_how_much_it_would_fetch() {
    let folder = folder(&[("data/a.txt", "1234"), ("data/b.pdf", "56"), ("data/c.txt", "789")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    let dry = run(folder.path(), &["sync", url, "copy", "-n", "--exclude", "*.pdf"], 0);
    assert!(dry.contains("Dry run: +2 ~0 -0, 1 entry not selected; 7 B to fetch;"), "{dry}");
    let limited = run(folder.path(), &["sync", url, "copy", "--limit", "1"], 0);
    assert!(limited.contains("+1 ~0 -0, 2 entries not selected;"), "{limited}");
    let all = run(folder.path(), &["sync", url, "copy"], 0);
    assert!(!all.contains("not selected"), "{all}");
}

#[test]
fn p10_a_document_that_is_named_and_missing_is_not_replaced_by_another() {
    let folder = folder(&[("data/a.txt", "a")]);
    let ServedSource { url, .. } = &ServedSource::with_options(folder.path(), &["--sitemap"]);
    let missing = run(folder.path(), &["sync", &format!("{url}nope.xml"), "copy"], 4);
    assert!(missing.contains("nope.xml") && missing.contains("404"), "{missing}");
    assert!(!folder.path().join("copy").exists());
    run(folder.path(), &["sync", &format!("{url}nope/"), "copy"], 0);
}

#[test]
fn p7_requests_are_shown_and_every_line_of_a_json_log_is_json() {
    let folder = folder(&[("data/a.txt", "a")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    let Output { stderr, status, .. } =
        instep(folder.path(), &["sync", url, "copy", "-vv", "--log-format", "json"]).output().unwrap();
    assert!(status.success());
    let lines: Vec<Value> =
        String::from_utf8(stderr).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_request = |line: &&Value| line["message"] == "request";
    let requests: Vec<_> = lines.iter().filter(is_request).collect();
    assert!(!requests.is_empty(), "{lines:?}");
    for request in requests {
        assert!(request["uri"].as_str().unwrap().starts_with(url), "{request}");
        assert!(
            request["status"].is_u64() && request["bytes"].is_u64() && request["ms"].is_u64(),
            "{request}"
        );
    }
    assert!(lines.iter().any(|line| line["level"] == "INFO"), "notes are JSON too: {lines:?}");
}

#[test]
fn p18_an_audit_checks_the_files_that_its_filters_select_and_no_other() {
    let folder = folder(&[("data/letters/a.txt", "one"), ("data/notes/b.txt", "two")]);
    let source = ServedSource::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    fs::write(folder.path().join("copy/notes/b.txt"), "another").unwrap();
    let every = run(folder.path(), &["audit", &source.url, "copy"], 20);
    assert!(every.contains("1 same, 1 differ"), "{every}");
    let letters = run(folder.path(), &["audit", &source.url, "copy", "--include", "letters/**"], 0);
    assert!(letters.contains("In step: 1 same"), "{letters}");
    let offline = run(folder.path(), &["audit", "copy", "--offline", "--exclude", "letters/**"], 20);
    assert!(offline.contains("Not in step: 0 same, 1 differ"), "{offline}");
    let nothing = run(folder.path(), &["audit", &source.url, "copy", "--include", "lettres/**"], 0);
    assert!(nothing.contains("Nothing compared: 0 same"), "{nothing}");
}

#[test]
fn p21_a_source_with_another_name_for_its_host_is_told_from_one_that_is_away() {
    let folder = folder(&[("data/a.txt", "one")]);
    let source = ServedSource::start(folder.path());
    let other = source.url.replace("127.0.0.1", "localhost");
    let wrong = run(folder.path(), &["sync", &other, "copy"], 4);
    assert!(wrong.contains("Give the URL that the Source has for itself"), "{wrong}");
    assert!(wrong.contains("--allow-origin ORIGIN") && !wrong.contains("the network"), "{wrong}");
}

#[test]
fn p22_a_source_that_is_added_twice_by_mistake_becomes_no_second_copy() {
    let folder = folder(&[]);
    let add = ["source", "add", "http://source.example/"];
    run(folder.path(), &add, 0);
    let again = run(folder.path(), &add, 2);
    assert!(again.contains("is kept already, as source.example; give --name NAME"), "{again}");
    run(folder.path(), &[&add[..], &["--name", "second"]].concat(), 0);
    let listed = run(folder.path(), &["source", "list"], 0);
    assert!(listed.contains("2 Sources"), "{listed}");
    let unknown = run(folder.path(), &["source", "pause", "third"], 2);
    assert!(unknown.contains("`instep source list` shows the names"), "{unknown}");
    run(folder.path(), &["source", "remove", "second", "source.example"], 0);
    let none = run(folder.path(), &["source", "list"], 0);
    assert!(none.contains("0 Sources\nAdd one with: instep source add URL"), "{none}");
}

#[test]
fn o899_a_metrics_file_that_cannot_be_written_is_named_also_by_a_quiet_run() {
    let folder = folder(&[("data/a.txt", "one")]);
    let source = ServedSource::start(folder.path());
    let said = run(folder.path(), &["sync", &source.url, "copy", "--quiet", "--metrics-file", "none/m"], 0);
    assert!(said.contains("Cannot write the metrics file none/m: "), "{said}");
}

#[test]
fn o894_a_source_that_is_due_runs_now_and_not_at_a_time_that_has_passed() {
    let folder = folder(&[]);
    run(folder.path(), &["source", "add", "http://source.example/"], 0);
    let listed = run(folder.path(), &["source", "list"], 0);
    assert!(listed.contains(" next now  http://source.example/"), "{listed}");
    let shown = run(folder.path(), &["source", "show", "source.example"], 0);
    assert!(shown.contains("Next run    now\n"), "{shown}");
}

#[test]
fn p23_the_last_line_of_a_run_says_nothing_that_was_true_only_before_it() {
    let folder = folder(&[("data/a.txt", "one")]);
    let source = ServedSource::start(folder.path());
    let said = run(folder.path(), &["sync", &source.url, "copy"], 0);
    let last = said.lines().find(|line| line.starts_with("In step: +1 ")).unwrap();
    assert!(last.ends_with("s") && !last.contains("first copy"), "{said}");
    assert!(said.contains("Using the Resource List: the first copy"), "{said}");
    let status = run(folder.path(), &["status", "copy"], 0);
    assert!(status.contains("using the Resource List: +1 ~0 -0; the first copy"), "{status}");
}

#[test]
fn o116_a_bandwidth_of_0_is_no_limit_as_in_rsync_and_no_run_without_an_end() {
    let folder = folder(&[("data/a.txt", "a")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    let shown = run(folder.path(), &["sync", url, "copy", "--bwlimit", "0", "--max-duration", "30s"], 0);
    assert!(shown.contains("In step: +1 "), "{shown}");
}

#[test]
fn o117_a_copy_is_not_exported_into_itself() {
    let folder = folder(&[("data/a.txt", "a")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    run(folder.path(), &["sync", url, "copy"], 0);
    for (form, within) in [("--folder", "copy/files"), ("--bagit", "./copy/x/../bag")] {
        let shown = run(folder.path(), &["export", "copy", form, within], 2);
        assert!(shown.contains("lies within the copy"), "{shown}");
    }
    assert_eq!(fs::read_dir(folder.path().join("copy")).unwrap().count(), 2, "the resource and the state");
    run(folder.path(), &["export", "copy", "--folder", "copy-of-copy"], 0);
}

#[test]
fn o122_a_run_with_another_list_of_paths_or_without_one_compares_the_complete_copy() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b"), ("data/c.txt", "c")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    for (list, copied) in [("a.txt\n", "In step: +1 "), ("a.txt\nb.txt\n", "In step: +1 ")] {
        fs::write(folder.path().join("list"), list).unwrap();
        let shown = run(folder.path(), &["sync", url, "copy", "--files-from", "list"], 0);
        assert!(shown.contains(copied), "{list:?}: {shown}");
    }
    let dry = run(folder.path(), &["sync", url, "copy", "-n"], 0);
    assert!(dry.contains("Dry run: +1 "), "{dry}");
    let all = run(folder.path(), &["sync", url, "copy"], 0);
    assert!(all.contains("In step: +1 ") && folder.path().join("copy/c.txt").exists(), "{all}");
}

#[test]
fn o154_an_audit_says_that_nothing_matches_and_names_paths_that_nothing_has() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    run(folder.path(), &["sync", url, "copy"], 0);
    fs::write(folder.path().join("list"), "a.txt\nb.tx\n").unwrap();
    let some = run(folder.path(), &["audit", url, "copy", "--files-from", "list"], 0);
    assert!(
        some.contains("In step: 1 same") && some.contains("1 listed path not at the Source: b.tx"),
        "{some}"
    );
    let none = run(folder.path(), &["audit", url, "copy", "--include", "*.pdf"], 0);
    assert!(none.contains("2 listed, 0 selected") && none.contains("Nothing compared"), "{none}");
    let offline = run(folder.path(), &["audit", "copy", "--offline", "--include", "*.pdf"], 0);
    assert!(offline.contains("Nothing compared"), "{offline}");
}

#[test]
fn o155_an_export_removes_only_what_an_earlier_one_left() {
    let folder = folder(&[("data/a.txt", "a"), ("out.unfinished/mine", "not ours")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    run(folder.path(), &["sync", url, "copy"], 0);
    let export = ["export", "copy", "--folder", "out"];
    let refused = run(folder.path(), &export, 2);
    assert!(refused.contains("is in the way, and not an export that was interrupted"), "{refused}");
    assert!(folder.path().join("out.unfinished/mine").exists());
    fs::write(folder.path().join("out.unfinished/.instep-export"), "").unwrap();
    run(folder.path(), &export, 0);
    let names: Vec<_> =
        fs::read_dir(folder.path().join("out")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
}

#[test]
fn o160_a_file_of_events_or_metrics_that_cannot_be_written_is_named() {
    let folder = folder(&[("data/a.txt", "a")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    let events = run(folder.path(), &["sync", url, "copy", "--events", "none/events"], 2);
    assert!(events.contains("none/events: No such file"), "{events}");
    let metrics = run(folder.path(), &["sync", url, "again", "--metrics-file", "none/metrics"], 0);
    assert!(metrics.contains("Cannot write the metrics file none/metrics: "), "{metrics}");
}

#[test]
fn o350_resources_of_which_only_later_versions_are_held_are_counted() {
    let folder = folder(&[("data/a.txt", "one"), ("data/b.txt", "two")]);
    let source = ServedSource::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    let export = |as_of: &str, into: &str| {
        run(folder.path(), &["export", "copy", "--folder", into, "--as-of", as_of], 0)
    };
    let said = export("2020-01-01", "then");
    assert!(
        said.contains("0 files") && said.contains("2 resources left out: the copy has only later"),
        "{said}"
    );
    let said = export("2999-01-01", "now");
    assert!(said.contains("2 files") && !said.contains("left out"), "{said}");
}

#[test]
fn o760_an_audit_of_a_sample_does_not_say_that_the_copy_is_in_step() {
    let folder =
        folder(&[("data/a", "a"), ("data/b", "b"), ("data/c", "c"), ("data/d", "d"), ("data/e", "e")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    run(folder.path(), &["sync", url, "copy"], 0);
    for what in [&[url.as_str(), "copy"][..], &["copy", "--offline"]] {
        let said = run(folder.path(), &[&["audit"][..], what, &["--sample", "99%"]].concat(), 0);
        assert!(said.contains("No difference in the sample: "), "{said}");
        assert!(!said.contains("In step") && !said.contains("Undamaged"), "{said}");
    }
}

#[test]
fn o972_the_status_of_a_copy_whose_last_run_failed_has_the_exit_code_of_that_run_on_request() {
    let folder = folder(&[("data/a.txt", "a")]);
    let server = ServedSource::start(folder.path());
    let url = server.url.clone();
    let sync = ["sync", &*url, "copy", "--retries", "0"];
    run(folder.path(), &sync, 0);
    run(folder.path(), &["status", "copy", "--exit-code"], 0);
    drop(server);
    run(folder.path(), &sync, 4);
    run(folder.path(), &["status", "copy"], 0);
    run(folder.path(), &["status", "copy", "--exit-code"], 4);
    run(folder.path(), &["status", "copy", "--exit-code", "--source", &url], 4);
}
