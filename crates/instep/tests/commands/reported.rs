//! Rounds and reported changes that seem to succeed and have no effect: the output says so.

use crate::support::{BASE, ServedSource, folder, instep, output_of, publish, run};

#[test]
fn o216_a_round_in_which_the_source_was_away_does_not_say_nothing_new() {
    let folder = folder(&[]);
    let sync = ["sync", "http://127.0.0.1:1/", "copy", "--follow", "--retries", "0"];
    let said = run(folder.path(), &sync, 4);
    assert!(said.contains("nothing done: the Source cannot be reached"), "{said}");
    assert!(!said.contains("nothing new"), "{said}");
}

#[test]
fn o217_a_resource_on_another_host_is_reported_with_what_copies_make_of_it() {
    let folder = folder(&[("data/a.txt", "a")]);
    publish(folder.path());
    let foreign = "http://elsewhere.example/x";
    let add = ["change", "add", "--dir", "data", foreign, "http://elsewhere.example/y"];
    let said = run(folder.path(), &add, 0);
    assert!(said.contains(foreign) && said.contains("and 1 other are on another host"), "{said}");
    assert!(said.contains("--allow-origin"), "{said}");
    let own = format!("{BASE}record/7");
    let said = run(folder.path(), &["change", "add", "--dir", "data", &own], 0);
    assert!(!said.contains("another host"), "{said}");
    let said = run(folder.path(), &["change", "remove", "--dir", "data", foreign], 0);
    assert!(!said.contains("another host"), "{said}");
}

#[test]
fn o218_a_report_that_changes_nothing_says_why() {
    let folder = folder(&[("data/a.txt", "a")]);
    publish(folder.path());
    for (verb, name) in [("remove", "a.txt"), ("remove", "never"), ("add", "a.txt")] {
        let said = run(folder.path(), &["change", verb, "--dir", "data", &format!("{BASE}{name}")], 0);
        assert!(said.contains("Nothing changed: a resource that is a file"), "{verb} {name}: {said}");
    }
    let mut feed = instep(folder.path(), &["change", "--stdin", "--dir", "data"]);
    std::fs::write(folder.path().join("lines"), format!("{{\"uri\":\"{BASE}never\"}}\n")).unwrap();
    feed.stdin(std::fs::File::open(folder.path().join("lines")).unwrap());
    assert!(output_of(feed, 0).contains("Nothing changed"));
}

#[test]
fn o243_a_feed_and_a_sitemap_warn_of_resources_on_another_host() {
    let folder = folder(&[("data/a.txt", "a"), ("lines", "")]);
    publish(folder.path());
    let feed = |lines: &str| {
        std::fs::write(folder.path().join("lines"), lines).unwrap();
        let mut command = instep(folder.path(), &["change", "--stdin", "--dir", "data"]);
        command.stdin(std::fs::File::open(folder.path().join("lines")).unwrap());
        output_of(command, 0)
    };
    let foreign = "{\"uri\":\"http://elsewhere.example/x\"}\n";
    let said = feed(&format!("{foreign}{{\"uri\":\"{BASE}b\"}}\n{foreign}"));
    assert_eq!(said.matches("on another host than the Source").count(), 1, "{said}");
    let gone = "{\"uri\":\"http://elsewhere.example/x\",\"change\":\"deleted\"}\n";
    assert!(!feed(gone).contains("another host"));

    let list = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://elsewhere.example/p</loc></url></urlset>";
    std::fs::write(folder.path().join("sitemap.xml"), list).unwrap();
    let said =
        run(folder.path(), &["upgrade-sitemap", "sitemap.xml", "--base-url", "http://site.example/"], 0);
    assert!(said.contains("http://elsewhere.example/p is on another host"), "{said}");
}

#[test]
fn o649_a_problem_is_a_line_for_people_or_for_programs_and_not_both() {
    let folder = folder(&[("data/a.txt", "a"), ("list", "https://a.example/\nftp://b.example/\n")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    run(folder.path(), &["sync", url, "copy"], 0);
    std::fs::write(folder.path().join("copy/a.txt"), "b").unwrap();
    for (arguments, again) in [
        (["export", "copy", "--folder", "files"], ["export", "copy", "--folder", "files2"]),
        (["source", "import", "list", "--fleet=f"], ["source", "import", "list", "--fleet=g"]),
    ] {
        let shown = instep(folder.path(), &arguments).output().unwrap();
        assert_eq!((shown.status.code(), shown.stderr.is_empty()), (Some(3), false), "{shown:?}");
        let shown = instep(folder.path(), &again).arg("--json").output().unwrap();
        assert_eq!((shown.status.code(), shown.stderr.is_empty()), (Some(3), true), "{shown:?}");
        let lines = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(lines.matches("\"type\":\"problem\"").count(), 1, "{lines}");
    }
}
