//! Wrong but plausible input of a Source: it is refused or reported with its place, and never published unnoticed.

use std::{fs, io::Write as _, path::Path, process::Stdio};

use rustix::process::Signal;

use crate::support::{BASE, Running, folder, get, instep, publish, run};

#[test]
fn o247_an_invalid_base_url_is_refused_with_its_place_and_leaves_nothing_behind() {
    let folder = folder(&[("data/a.txt", "a"), ("instep.toml", "[publish]\nbase-url = 'http://a/%zz/'\n")]);
    let said = run(folder.path(), &["publish", "data"], 2);
    assert!(said.contains("instep.toml line 2: [publish] base-url"), "{said}");
    assert!(said.contains("percent-encoded"), "{said}");
    let said =
        run(folder.path(), &["serve", "data", "--listen", "127.0.0.1:0", "--base-url", "http://a/[x]/"], 2);
    assert!(said.contains("--base-url"), "{said}");
    assert!(!folder.path().join("data/.instep").exists());
}

#[test]
fn o248_a_collection_of_activities_that_is_no_longer_written_is_removed() {
    let folder = folder(&[("data/a.txt", "a")]);
    let activities = folder.path().join("data/resourcesync/activities");
    run(folder.path(), &["publish", "data", "--base-url", BASE, "--activities", "Manifest"], 0);
    assert!(activities.join("collection.json").exists() && activities.join("page-0.json").exists());
    let said = run(folder.path(), &["publish", "data", "--base-url", BASE], 0);
    assert!(said.contains("The collection of activities is removed"), "{said}");
    assert!(!activities.exists());
    // A collection that another program has written stays.
    fs::create_dir(&activities).unwrap();
    fs::write(activities.join("collection.json"), "{\"id\": \"mine\"}").unwrap();
    assert!(!publish(folder.path()).contains("activities"));
    assert!(activities.join("collection.json").exists());
}

#[test]
fn o324_a_server_without_activities_removes_the_collection_of_earlier_runs() {
    let folder = folder(&[("data/a.txt", "a")]);
    let collection = folder.path().join("data/.instep/documents/resourcesync/activities/collection.json");
    let answer = |options: &[&str]| {
        let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", BASE];
        let mut server = Running::start(instep(folder.path(), &[&serve[..], options].concat()));
        let address = server.ready()["address"].as_str().unwrap().to_owned();
        get(&address, "/data/resourcesync/activities/collection.json")
    };
    assert!(answer(&["--activities", "Manifest"]).starts_with("HTTP/1.1 200"));
    assert!(collection.exists());
    let gone = answer(&[]);
    assert!(gone.starts_with("HTTP/1.1 404"), "{gone}");
    assert!(!collection.exists());
}

#[test]
fn o1029_a_server_with_activities_refuses_a_set_that_has_the_name_of_their_folder() {
    let folder =
        folder(&[("data/a.txt", "a"), ("instep.toml", "[[set]]\nname = \"activities\"\ncontent = \".\"\n")]);
    let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", BASE, "--activities", "Manifest"];
    let said = run(folder.path(), &serve, 2);
    assert!(said.contains("give the set another name"), "{said}");
}

#[test]
fn o249_an_up_link_to_another_document_is_one_finding() {
    let folder = folder(&[("data/a.txt", "a")]);
    publish(folder.path());
    edit(folder.path(), "resourcelist.xml", "capabilitylist.xml", "other.xml");
    let said = run(folder.path(), &["validate", "data"], 0);
    assert!(said.contains("warning NAV-1") && said.contains("1 warning, 0 infos"), "{said}");
}

#[test]
fn o251_a_file_of_events_that_cannot_be_written_is_found_before_the_run() {
    let folder = folder(&[("data/a.txt", "a"), ("file", "")]);
    for events in ["none/events", "data", "file/events"] {
        let said = run(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--events", events], 2);
        assert!(said.contains(&format!("The changes cannot be written to {events}: ")), "{said}");
    }
    assert!(!folder.path().join("copy").exists());
    run(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--retries", "0", "--events", "events"], 4);
    assert!(!folder.path().join("events").exists());
}

#[test]
fn o252_a_misspelt_name_in_a_manifest_or_a_change_is_reported() {
    let folder = folder(&[
        ("data/a.txt", "a"),
        (
            "list.jsonl",
            "{\"uri\":\"http://source.example/1\",\"lenght\":5}\n{\"uri\":\"http://source.example/2\",\"lenght\":6,\"title\":\"t\"}\n",
        ),
        ("list.csv", "uri,Length,title\nhttp://source.example/1,5,t\n"),
    ]);
    for (list, place, name) in
        [("list.jsonl", "list.jsonl, line 1: ", "lenght"), ("list.csv", "list.csv, line 1: ", "Length")]
    {
        let (out, state) = (format!("{list}.documents"), format!("{list}.state"));
        let publish =
            ["publish", "data", "--from", list, "--base-url", BASE, "--out", &out, "--state", &state];
        let said = run(folder.path(), &publish, 0);
        let what = format!("{place}the name {name:?} is not read; did you mean \"length\"?");
        assert_eq!(said.matches("is not read").count(), 1, "{said}");
        assert!(said.contains(&what), "{said}");
    }
    publish(folder.path());
    let changes = "{\"uri\":\"http://source.example/1\",\"chnge\":\"deleted\"}\n";
    let said = report(folder.path(), changes);
    assert!(said.contains("did you mean \\\"change\\\"?"), "{said}");
}

#[test]
fn o253_a_type_that_is_not_a_media_type_is_refused_and_an_empty_one_is_left_out() {
    let folder = folder(&[("data/a.txt", "a")]);
    publish(folder.path());
    let said = report(
        folder.path(),
        "{\"uri\":\"http://source.example/1\",\"type\":\"a web page\"}\n{\"uri\":\"http://source.example/2\",\"type\":\"\"}\n",
    );
    assert!(said.contains("is not a media type such as text/html"), "{said}");
    publish(folder.path());
    let said = run(folder.path(), &["validate", "data", "--strict"], 0);
    assert!(said.contains("0 warnings, 0 infos"), "{said}");
}

#[test]
fn o254_a_percentage_of_deletions_counts_the_resources_that_readers_know() {
    let files: Vec<_> = (0..30).map(|number| (format!("data/old/{number}"), "a".to_owned())).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = folder(&files);
    publish(folder.path());
    fs::rename(folder.path().join("data/old"), folder.path().join("data/new")).unwrap();
    let publish = ["publish", "data", "--base-url", BASE, "--max-delete"];
    for _ in 0..2 {
        let said = run(folder.path(), &[&publish[..], &["50%"]].concat(), 6);
        assert!(said.contains("30 of 30 resources are gone, more than the 15"), "{said}");
    }
    run(folder.path(), &[&publish[..], &["100%"]].concat(), 0);
}

#[test]
fn o255_files_that_have_the_names_of_documents_are_reported_as_not_published() {
    let files = [("data/a.txt", "a"), ("data/resourcesync/mine.csv", "b"), ("data/robots.txt", "c")];
    let said = publish(folder(&files).path());
    assert!(said.contains("has files that are not published"), "{said}");
    assert!(said.contains("robots.txt, resourcesync/mine.csv; move them"), "{said}");
    let folder = folder(&files);
    let elsewhere = ["publish", "data", "--base-url", BASE, "--out", "documents", "--state", "state"];
    for _ in 0..2 {
        let said = run(folder.path(), &elsewhere, 0);
        assert!(said.contains("robots.txt, resourcesync/mine.csv; move them"), "{said}");
    }
}

#[test]
fn o256_a_link_with_more_than_one_star_is_refused_with_its_line() {
    for (resource, target) in [("*", "http://mirror.example/**"), ("*/*", "x")] {
        let rule = format!("\n[[link]]\nresource = '{resource}'\nrel = 'duplicate'\ntarget = '{target}'\n");
        let folder = folder(&[("data/a.txt", "a"), ("instep.toml", &rule)]);
        let said = run(folder.path(), &["publish", "data", "--base-url", BASE], 2);
        assert!(
            said.contains("instep.toml line 2: [[link]]: ") && said.contains("more than one *"),
            "{said}"
        );
    }
}

#[test]
fn o257_a_set_that_offers_nothing_is_refused() {
    let folder = folder(&[
        ("data/papers/a.txt", "a"),
        ("instep.toml", "[[set]]\nname = 'p'\ncontent = 'papers'\ncapabilities = []\n"),
    ]);
    let said = run(folder.path(), &["publish", "data", "--base-url", BASE], 2);
    assert!(said.contains("capabilities is empty"), "{said}");
}

#[test]
fn o258_a_document_that_no_list_names_any_more_is_a_finding() {
    for (document, old, new, found) in [
        ("capabilitylist.xml", "resourcelist.xml", "none.xml", "resourcelist.xml:"),
        ("changelist.xml", "changelist-000001", "changelist-000009", "changelist-000001.xml:"),
    ] {
        let folder = folder(&[("data/a.txt", "a")]);
        publish(folder.path());
        edit(folder.path(), document, old, new);
        let said = run(folder.path(), &["validate", "data"], 0);
        assert!(said.contains("warning NAV-4") && said.contains(found), "{said}");
    }
}

#[test]
fn o990_a_document_whose_metadata_come_after_its_entries_is_checked_in_a_folder_too() {
    let folder = folder(&[("data/a.txt", "a")]);
    run(folder.path(), &["publish", "data", "--base-url", BASE, "--dump", "always"], 0);
    let list = folder.path().join("data/resourcesync/resourcelist.xml");
    let text = fs::read_to_string(&list).unwrap();
    let metadata = text.lines().find(|line| line.contains("capability=")).unwrap();
    let without = text.replace(&format!("{metadata}\n"), "");
    fs::write(&list, without.replace("</urlset>", &format!("{metadata}\n</urlset>"))).unwrap();
    let said = run(folder.path(), &["validate", "data"], 0);
    assert!(said.contains("warning GEN-23") && said.contains("0 errors, 1 warning, 0 infos"), "{said}");
}

#[test]
fn o260_a_certificate_that_cannot_be_used_after_a_hangup_is_reported_and_the_former_one_stays() {
    let pairs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../instep-source/tests/data/tls");
    let folder = folder(&[("data/a.txt", "a")]);
    let take = |name: &str, to: &str| fs::copy(pairs.join(name), folder.path().join(to)).unwrap();
    take("first.pem", "chain.pem");
    take("first.key", "key.pem");
    let tls = ["--tls-cert", "chain.pem", "--tls-key", "key.pem"];
    let serve = [&["serve", "data", "--listen", "127.0.0.1:0"][..], &tls].concat();
    let mut server = Running::start(instep(folder.path(), &serve));
    server.ready();
    take("second.pem", "chain.pem");
    server.signal(Signal::HUP);
    let problem = server.wait_for(|line| line["type"] == "problem");
    let what = problem["what"].as_str().unwrap();
    assert!(what.contains("the former one stays in use"), "{what}");
    assert!(what.contains("the key in key.pem is not that of this certificate"), "{what}");
}

/// Replaces text in a document.
fn edit(folder: &Path, document: &str, old: &str, new: &str) {
    let path = folder.join("data/resourcesync").join(document);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(old), "{text}");
    fs::write(path, text.replace(old, new)).unwrap();
}

/// Reports changes as lines of standard input. One of them must be refused. Returns the answers.
fn report(folder: &Path, changes: &str) -> String {
    let mut command = instep(folder, &["change", "--stdin", "--dir", "data"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(changes.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    String::from_utf8(output.stdout).unwrap()
}

/// Validates a list of one resource, with additions to its entry and its root. Returns the findings.
fn findings(in_entry: &str, in_root: &str) -> String {
    let list = format!(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'>\
         <rs:ln rel='up' href='http://h/c.xml'/>{in_root}<rs:md capability='resourcelist' at='2026-01-01T00:00:00Z'/>\
         <url><loc>http://h/a</loc>{in_entry}</url></urlset>"
    );
    let folder = folder(&[("list.xml", &list)]);
    let strict = if in_entry.is_empty() && in_root.is_empty() { 0 } else { 5 };
    run(folder.path(), &["validate", "list.xml", "--strict"], strict)
}

#[test]
fn o342_an_element_that_the_standard_does_not_have_is_found() {
    assert!(findings("", "").contains("Conforms"));
    for (in_entry, in_root) in [("<rs:meta length='1'/>", ""), ("", "<rs:meta length='1'/>")] {
        let said = findings(in_entry, in_root);
        assert!(
            said.contains("GEN-2: found the element rs:meta, which ResourceSync does not have"),
            "{said}"
        );
    }
}

#[test]
fn o343_a_priority_outside_of_0_to_1_is_found() {
    for value in ["2.0", "-1", "high"] {
        let said = findings(&format!("<priority>{value}</priority>"), "");
        assert!(said.contains(&format!("GEN-23: found priority \"{value}\"; expected a decimal")), "{said}");
    }
}

#[test]
fn o344_a_second_link_up_is_found() {
    let said = findings("", "<rs:ln rel='up' href='http://h/other.xml'/>");
    assert!(said.contains("NAV-1: found another link rel=\"up\"; expected one"), "{said}");
}
