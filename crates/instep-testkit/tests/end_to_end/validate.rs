//! `instep validate --follow`: findings that only a walk through the documents of a Source shows.

use std::{collections::BTreeSet, fs, path::PathBuf};

use instep_testkit::{FakeSource, Fault, Page, Run, instep};

/// Returns a Source without fault: a page that leads to its Capability List, and is covered by it.
pub(super) fn source() -> FakeSource {
    let source = FakeSource::start()
        .with_resources((0..5).map(|number| (format!("f{number}.txt"), format!("text {number}"))));
    source.put("page.html", "<html><head></head><body>a page</body></html>");
    source.snapshot();
    source.put("f1.txt", "another text");
    let link = format!("<{}>; rel=\"resourcesync\"", source.capability_list_url());
    let page = Page::from("<html><head></head><body>a page</body></html>").with_header("link", link);
    source.serve("page.html", page.with_header("content-type", "text/html"));
    let list = source.resource_list_url();
    source.serve("robots.txt", format!("User-agent: *\nSitemap: {list}\n"));
    source
}

pub(super) fn follow(source: &FakeSource, from: &str, options: &[&str]) -> Run {
    let arguments = ["validate", &source.url(from), "--follow", "--json", "--samples", "100"];
    Run::of(instep(arguments).args(["--retries", "0"]).args(options))
}

/// Returns the rules of the findings that weigh as much.
pub(super) fn rules(run: &Run, severities: &[&str]) -> BTreeSet<String> {
    let findings = run.stdout.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    findings
        .filter(|finding| finding["type"] == "finding")
        .filter(|finding| severities.iter().any(|severity| finding["severity"] == *severity))
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_right_source_conforms_from_wherever_the_walk_begins() {
    let source = source();
    for from in ["", "page.html", "capabilitylist.xml", "changelist.xml", ".well-known/resourcesync"] {
        let run = follow(&source, from, &[]).with_code(0);
        assert_eq!(rules(&run, &["error"]), BTreeSet::new(), "{from}: {}", run.stdout);
    }
}

#[test]
fn o282_a_page_that_is_younger_than_the_resource_list_is_covered_by_the_change_list() {
    let source = source();
    source.delete("page.html");
    source.snapshot();
    page(&source, "capabilitylist.xml", "head");
    let run = follow(&source, "page.html", &[]).with_code(0);
    assert_eq!(rules(&run, &["error"]), BTreeSet::new(), "{}", run.stdout);
}

/// A rule, the way to break it, and where the walk begins.
type Case = (&'static str, fn(&FakeSource), &'static str);

const CASES: [Case; 18] = [
    ("NAV-3", |source| source.fail_always("changelist.xml", Fault::Status(404)), ""),
    ("SD-1", without_description, "capabilitylist.xml"),
    ("SD-2", without_description, "capabilitylist.xml"),
    ("DISC-1", |source| lead(source, ".well-known/resourcesync", "description", "capabilitylist"), ""),
    ("DISC-2", |source| page(source, "capabilitylist.xml", "body"), "page.html"),
    (
        "DISC-3",
        |source| {
            page(source, "capabilitylist.xml", "head");
            source.delete("page.html");
            source.snapshot();
        },
        "page.html",
    ),
    ("DISC-5", |source| source.serve("robots.txt", format!("Sitemap: {}", source.url("nowhere.xml"))), ""),
    ("DISC-7", |source| page(source, "resourcelist.xml", "head"), "page.html"),
    (
        "CAP-3",
        |source| lead(source, "capabilitylist.xml", ".well-known/resourcesync", "resourcelist.xml"),
        "",
    ),
    ("CAP-6", |source| lead(source, "capabilitylist.xml", "changelist.xml", "resourcelist.xml"), ""),
    ("NAV-1", |source| lead(source, "resourcelist.xml", "capabilitylist.xml", "changelist.xml"), ""),
    ("NAV-4", |source| lead(source, "changelist-000001.xml", "/changelist.xml", "/other.xml"), ""),
    ("ATT-15", |source| source.misstate("f2.txt", |entry| entry.metadata.length = Some(1)), ""),
    (
        "ATT-13",
        |source| {
            source.serve("f2.txt", "text X");
        },
        "",
    ),
    ("RL-8", |source| source.fail_always("f3.txt", Fault::Status(404)), ""),
    ("CN-4", with_channel_without_hub, ""),
    ("RD-6", with_dump_of_no_packages, ""),
    (
        "TIME-12",
        |source| {
            source.rotate();
            source.rewrite("changelist.xml", |index| index.replacen("until=\"20", "until=\"19", 1));
        },
        "",
    ),
];

/// Something else where a document names one thing.
fn lead(source: &FakeSource, document: &str, one: &'static str, other: &'static str) {
    source.rewrite(document, move |text| text.replace(one, other));
}

fn without_description(source: &FakeSource) {
    source.fail_always(".well-known/resourcesync", Fault::Status(404));
}

fn page(source: &FakeSource, list: &str, part: &str) {
    let link = format!("<link rel=\"resourcesync\" href=\"{}\">", source.url(list));
    let (head, body) = if part == "head" { (link, String::new()) } else { (String::new(), link) };
    let page = format!("<html><head>{head}</head><body>{body}</body></html>");
    source.put("page.html", page.clone());
    source.serve("page.html", Page::from(page).with_header("content-type", "text/html"));
}

fn with_channel_without_hub(source: &FakeSource) {
    source.serve("channel", "");
    offer(source, "channel", "change-notification");
}

fn with_dump_of_no_packages(source: &FakeSource) {
    source.serve("package.zip", "no package");
    let (list, package) = (source.capability_list_url(), source.url("package.zip"));
    source.serve(
        "resourcedump.xml",
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:ln rel=\"up\" href=\"{list}\"/>\
             <rs:md capability=\"resourcedump\" at=\"2026-01-01T00:00:00Z\"/><url><loc>{package}</loc>\
             <rs:md type=\"application/zip\" length=\"10\"/></url></urlset>"
        ),
    );
    offer(source, "resourcedump.xml", "resourcedump");
}

/// One more entry in the Capability List.
pub(super) fn offer(source: &FakeSource, document: &str, capability: &'static str) {
    let loc = source.url(document);
    source.rewrite("capabilitylist.xml", move |list| {
        let entry = format!("<url><loc>{loc}</loc><rs:md capability=\"{capability}\"/></url>");
        list.replace("</urlset>", &format!("{entry}</urlset>"))
    });
}

/// A rule, the file of a publication (by its beginning and end), and what is written there for what.
const IN_A_FOLDER: [(&str, (&str, &str), &str, &str); 4] = [
    ("CAP-9", ("resourcelist", ".xml"), "three.txt", "four.txt"),
    ("RD-10", ("resourcedump-", ".xml"), "three.txt", "four.txt"),
    ("ZIP-9", ("resourcedump.xml", ""), "hash=\"", "hash=\"md5:00000000000000000000000000000000 "),
    ("ATT-15", ("resourcedump.xml", ""), " length=\"", " length=\"1"),
];

#[test]
fn a_folder_of_documents_and_packages_is_judged_together() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one.txt", "two.txt", "three.txt"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    let data = folder.path().to_str().unwrap();
    let _ = Run::of(&mut instep(["publish", data, "--base-url", "http://example.com/", "--dump", "always"]))
        .with_code(0);
    let documents = folder.path().join("resourcesync");
    let judge = || Run::of(&mut instep(["validate", documents.to_str().unwrap(), "--json"]));
    let _ = judge().with_code(0);
    for (rule, (start, end), old, new) in IN_A_FOLDER {
        let names = fs::read_dir(&documents).unwrap().map(|file| file.unwrap().path());
        let is_meant = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(start) && name.ends_with(end)
        };
        let file = names.into_iter().find(is_meant).unwrap();
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, before.replacen(old, new, 1)).unwrap();
        let run = judge();
        assert!(rules(&run, &["error", "warning"]).contains(rule), "{rule}: {}", run.stdout);
        fs::write(&file, before).unwrap();
    }
}

#[test]
fn what_is_broken_between_documents_is_found_by_its_rule() {
    let mut missed = Vec::new();
    for (rule, break_it, from) in CASES {
        let source = source();
        let right = rules(&follow(&source, from, &[]), &["error", "warning", "info"]);
        assert!(!right.contains(rule), "{rule} where nothing is broken");
        break_it(&source);
        let run = follow(&source, from, &[]);
        if !rules(&run, &["error", "warning", "info"]).contains(rule) {
            missed.push(format!("{rule}: {:?} {}{}", run.code, run.stdout, run.stderr));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn with_strict_a_warning_between_documents_is_an_error() {
    let source = source();
    page(&source, "capabilitylist.xml", "body");
    let _ = follow(&source, "page.html", &[]).with_code(0);
    let _ = follow(&source, "page.html", &["--strict"]).with_code(5);
}

#[test]
fn a_second_walk_goes_on_from_what_the_first_fetched_and_sees_a_closed_document_change() {
    let (source, shelf) = (source(), tempfile::tempdir().unwrap());
    source.rotate();
    let resume = ["--resume", shelf.path().to_str().unwrap()];
    let first = follow(&source, "", &resume).with_code(0);
    assert!(!rules(&first, &["error"]).contains("TIME-6"));
    let again = follow(&source, "", &resume).with_code(0);
    assert!(!rules(&again, &["error"]).contains("TIME-6"));
    source.rewrite("changelist-000001.xml", |list| list.replace("</urlset>", "<!-- later --></urlset>"));
    let changed = follow(&source, "", &resume).with_code(5);
    assert!(rules(&changed, &["error"]).contains("TIME-6"), "{}", changed.stdout);
}

#[test]
fn a_walk_is_bounded_and_says_so() {
    let run = follow(&source(), "", &["--max-documents", "2"]);
    assert!(rules(&run, &["info"]).contains("GEN-26"), "{}", run.stdout);
}

#[test]
fn o197_a_walk_of_one_document_is_a_walk_too_and_says_that_there_are_more() {
    let run = follow(&source(), "", &["--max-documents", "1"]);
    assert!(rules(&run, &["info"]).contains("GEN-26"), "{}", run.stdout);
}

#[test]
fn o829_a_walk_goes_on_after_a_body_that_cannot_be_decoded() {
    let garbage = || [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], &b"\xff\xff\xff, no deflate"[..]].concat();
    for (path, rule) in [("resourcelist.xml", "GEN-24"), ("f2.txt", "ATT-11"), ("package.zip", "RD-6")] {
        let source = source();
        with_dump_of_no_packages(&source);
        source.serve(path, Page::from(garbage()).with_header("content-encoding", "gzip"));
        let run = follow(&source, "", &[]);
        assert!([Some(0), Some(5)].contains(&run.code), "{path}: {}", run.stderr);
        assert!(rules(&run, &["error", "info"]).contains(rule), "{path}: {}", run.stdout);
    }
    let source = source();
    source.rewrite("capabilitylist.xml", |text| text.replace("</urlset>", ""));
    let run = follow(&source, "", &[]).with_code(5);
    assert!(rules(&run, &["error"]).contains("GEN-24"), "{}", run.stdout);
}

#[test]
fn o829_a_description_that_leads_to_nothing_and_a_copy_of_a_manifest_that_is_gone_are_found() {
    let source = source();
    source.fail_always("capabilitylist.xml", Fault::Status(404));
    let run = follow(&source, "", &[]).with_code(5);
    let found = rules(&run, &["error"]);
    assert!(found.contains("NAV-3") && !found.contains("SD-1"), "{}", run.stdout);

    source.heal();
    source.lay_out(|layout| layout.dump = true);
    source.snapshot();
    let right = follow(&source, "", &[]);
    assert!(!rules(&right, &["error"]).contains("RD-9"), "{}", right.stdout);
    source.fail_always("resourcedump-manifest.xml", Fault::Status(404));
    let run = follow(&source, "", &[]).with_code(5);
    assert!(rules(&run, &["error"]).contains("RD-9"), "{}", run.stdout);
}

#[test]
fn o1007_an_archive_that_a_document_links_to_and_that_is_not_there_is_found() {
    let source = source();
    let (archive, list) = (source.url("resourcelist-archive.xml"), source.capability_list_url());
    source.rewrite("resourcelist.xml", move |list| {
        list.replacen("<rs:md", &format!("<rs:ln rel=\"archives\" href=\"{archive}\"/><rs:md"), 1)
    });
    let run = follow(&source, "", &[]).with_code(0);
    assert!(rules(&run, &["warning"]).contains("ARC-4"), "{}", run.stdout);
    source.serve(
        "resourcelist-archive.xml",
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:ln rel=\"up\" href=\"{list}\"/>\
             <rs:md capability=\"resourcelist-archive\"/></urlset>"
        ),
    );
    let run = follow(&source, "", &[]).with_code(0);
    assert!(!rules(&run, &["warning"]).contains("ARC-4"), "{}", run.stdout);
}
