//! `instep validate --follow`: resources and patches that are compared with their entries, and places of findings.

use std::fs;

use instep_testkit::{FakeSource, Fault, Run, instep};

use super::validate::{follow, offer, source};

/// Returns the rule, the document, the line and the column of each finding.
fn places(run: &Run) -> Vec<(String, String, u64, u64)> {
    let findings = run.stdout.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    findings
        .filter(|finding| finding["type"] == "finding")
        .map(|finding| {
            let text = |name: &str| finding[name].as_str().unwrap().to_owned();
            let number = |name: &str| finding[name].as_u64().unwrap();
            (text("rule"), text("document"), number("line"), number("column"))
        })
        .collect()
}

/// Returns `true` if a finding of the rule is about the document.
fn is_found(run: &Run, rule: &str, document: &str) -> bool {
    places(run).iter().any(|(found, place, ..)| found == rule && place.ends_with(document))
}

#[test]
fn o132_only_what_was_published_later_explains_that_a_resource_differs() {
    let source = source();
    source.snapshot();
    source.put("f2.txt", "a change after the list");
    let right = follow(&source, "", &[]).with_code(0);
    assert!(!is_found(&right, "RL-8", ".xml"), "{}", right.stdout);
    source.fail_always("f1.txt", Fault::Status(404));
    let before = follow(&source, "", &[]);
    assert!(is_found(&before, "RL-8", "resourcelist.xml"), "its change is older: {}", before.stdout);
    source.fail_always("f2.txt", Fault::Status(404));
    let after = follow(&source, "", &[]);
    assert!(is_found(&after, "RL-8", "changelist-000001.xml"), "nothing is later: {}", after.stdout);
}

#[test]
fn o133_a_superseded_resource_list_is_not_compared_with_the_resources_of_today() {
    let source = source();
    let old = String::from_utf8(source.document("resourcelist.xml").unwrap()).unwrap();
    source.serve("resourcelist-old.xml", old);
    archive(&source, "resourcelist", "resourcelist-old.xml", "");
    source.delete("f3.txt");
    source.snapshot();
    source.gap();
    let run = follow(&source, "", &[]).with_code(0);
    assert!(!is_found(&run, "RL-8", ".xml"), "{}", run.stdout);
}

#[test]
fn o134_patches_are_fetched_and_compared_with_their_links() {
    let source = source();
    let patch = source.url("f1.vcdiff");
    let link = format!(
        "<rs:ln rel=\"http://www.openarchives.org/rs/terms/patch\" href=\"{patch}\" length=\"5\" \
         type=\"application/vcdiff\" hash=\"md5:61eac1a2c27fa7a6ec67d2f9efe6c4d1\"/></url>"
    );
    source.rewrite("changelist-000001.xml", move |list| list.replacen("</url>", &link, 1));
    let missing = follow(&source, "", &[]);
    assert!(is_found(&missing, "LN-9", "changelist-000001.xml"), "{}", missing.stdout);
    source.serve("f1.vcdiff", "other");
    let other = follow(&source, "", &[]);
    assert!(is_found(&other, "ATT-13", "changelist-000001.xml"), "{}", other.stdout);
}

#[test]
fn o135_an_archive_states_the_times_of_its_documents() {
    let source = source();
    source.rotate();
    archive(
        &source,
        "changelist",
        "changelist-000001.xml",
        "from=\"2001-01-01T00:00:00Z\" until=\"2099-01-01T00:00:00Z\"",
    );
    let run = follow(&source, "", &[]);
    assert!(is_found(&run, "TIME-12", "changelist-archive.xml"), "{}", run.stdout);
}

/// An archive of one document.
fn archive(source: &FakeSource, of: &'static str, document: &str, times: &str) {
    let name = format!("{of}-archive.xml");
    let (list, loc) = (source.capability_list_url(), source.url(document));
    source.serve(
        &name,
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:ln rel=\"up\" href=\"{list}\"/>\
             <rs:md capability=\"{of}-archive\"/><url><loc>{loc}</loc><rs:md {times}/></url></urlset>"
        ),
    );
    offer(source, &name, if of == "changelist" { "changelist-archive" } else { "resourcelist-archive" });
}

#[test]
fn o136_a_repeated_loc_is_reported_at_the_line_and_column_of_its_entry() {
    let entry = "  <url><loc>http://example.com/a</loc></url>\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resourcelist.xml");
    let list = format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\n  \
         <rs:ln rel=\"up\" href=\"http://example.com/caps.xml\"/>\n  \
         <rs:md capability=\"resourcelist\" at=\"2026-01-01T00:00:00Z\"/>\n{entry}{entry}</urlset>"
    );
    fs::write(&file, list).unwrap();
    let run = Run::of(&mut instep(["validate", file.to_str().unwrap(), "--json"]));
    let twice: Vec<_> = places(&run).into_iter().filter(|(rule, ..)| rule == "RL-5").collect();
    assert_eq!(twice, [("RL-5".to_owned(), file.to_str().unwrap().to_owned(), 5, 3)], "{}", run.stdout);
}
