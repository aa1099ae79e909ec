//! Documents that a validator must judge alike, however they are written.

use super::{Finding, Report, Severity, Uri, Validator};
use crate::{
    PackagePath,
    document::ChangeDumpManifest,
    validate::{DocumentSet, ValidateOptions},
    value::{Capability, Change},
};

/// Validates a list of a capability, which is the value of the attribute and those after it.
fn judge(capability: &str, entries: &str) -> Report {
    judge_as("urlset", capability, entries)
}

/// Validates a document with a root element.
fn judge_as(root: &str, capability: &str, entries: &str) -> Report {
    let text = format!(
        "<{root} xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
         xmlns:rs='http://www.openarchives.org/rs/terms/'><rs:md capability={capability}/>\
         <rs:ln rel='up' href='http://e.org/caps.xml'/>{entries}</{root}>"
    );
    judge_text(&text, ValidateOptions::new())
}

fn judge_text(text: &str, options: ValidateOptions) -> Report {
    Validator::new(options).document(text.as_bytes()).unwrap()
}

fn count(report: &Report, rule: &str) -> u64 {
    report.summary.rules.get(rule).copied().unwrap_or_default()
}

#[test]
fn o993_stray_text_is_found_where_it_begins() {
    let entries = "<url>\n<loc>http://e.org/a</loc>\n  one</url>\n two";
    let report = judge("'resourcelist' at='2013-01-03T00:00:00Z'", entries);
    let stray = report.findings.iter().filter(|finding| matches!(finding.rule, "GEN-13" | "GEN-14"));
    let places: Vec<_> = stray.map(|finding| (finding.position.line, finding.position.column)).collect();
    assert_eq!(places, [(3, 3), (4, 2)]);
}

#[test]
fn o828_stray_text_is_found_where_it_begins_after_the_ends_of_lines_of_windows() {
    let entries = "<url>\r\n<loc>http://e.org/a</loc>\r\n  one</url>\r\n\r\n two";
    let report = judge("'resourcelist' at='2013-01-03T00:00:00Z'", entries);
    let stray = report.findings.iter().filter(|finding| matches!(finding.rule, "GEN-13" | "GEN-14"));
    let places: Vec<_> = stray.map(|finding| (finding.position.line, finding.position.column)).collect();
    assert_eq!(places, [(3, 3), (5, 2)]);
}

#[test]
fn o823_an_entry_that_is_not_directly_under_the_root_or_not_in_the_namespace_of_sitemaps_is_found() {
    let one = "<url><loc>http://e.org/a</loc></url>";
    for (entries, count_with_it) in [
        ("<url xmlns=''><loc>http://e.org/a</loc></url>".to_owned(), 1),
        ("<rs:url><loc>http://e.org/a</loc></rs:url>".to_owned(), 1),
        (format!("<rs:ln rel='describedby' href='http://e.org/d'>{one}</rs:ln>"), 1),
        (format!("<url><loc>http://e.org/b</loc>{one}</url>"), 2),
        (format!("<url><loc>http://e.org/b</loc><rs:md length='1'>{one}</rs:md></url>"), 2),
    ] {
        let report = judge("'resourcelist' at='2013-01-03T00:00:00Z'", &entries);
        assert_eq!((count(&report, "GEN-13"), report.entries), (1, count_with_it), "{entries}");
        assert!(!report.lists(&"http://e.org/a".parse().unwrap()), "{entries}");
    }
    let foreign =
        "<url><loc>http://e.org/b</loc><x:url xmlns:x='urn:x'><x:loc/></x:url></url><x:url xmlns:x='urn:x'/>";
    let report = judge("'resourcelist' at='2013-01-03T00:00:00Z'", foreign);
    assert_eq!((report.summary.errors, report.entries), (0, 1), "{report:?}");
}

#[test]
fn o869_an_element_of_an_entry_that_only_has_the_name_of_one_is_no_lost_entry() {
    let picture = "<url><loc>http://e.org/a</loc><image><url>http://e.org/a.png</url></image></url>";
    let report = judge("'resourcelist' at='2013-01-03T00:00:00Z'", picture);
    assert_eq!((count(&report, "GEN-13"), count(&report, "GEN-14"), report.entries), (0, 1, 1), "{report:?}");
}

#[test]
fn o825_a_time_that_cannot_be_read_is_wrong_and_not_missing() {
    let entry = |metadata: &str| format!("<url><loc>http://e.org/a</loc><rs:md {metadata}/></url>");
    let changed = "change='created' datetime='2013-01-03T09:00:00Z'";
    let package = "from='soon' until='2013-01-03T10:00:00Z' type='application/zip' length='1'";
    for (capability, metadata) in [
        ("'resourcelist' at='soon' completed='2013-01-03T10:00:00Z'", "length='1'"),
        ("'changelist' from='soon' until='2013-01-03T10:00:00Z'", changed),
        ("'changelist' from='2013-01-03T00:00:00Z'", "change='created' datetime='soon'"),
        ("'changelist-archive'", "from='soon' until='2013-01-03T10:00:00Z'"),
        ("'changedump' from='2013-01-03T00:00:00Z'", package),
    ] {
        let report = judge(capability, &entry(metadata));
        let rules: Vec<_> = report.summary.rules.keys().copied().collect();
        assert_eq!(rules, ["ATT-22"], "{capability} {metadata}");
    }
    let barred = "'resourcelist' at='2013-01-03T00:00:00Z' until='2013-01-04T00:00:00Z'";
    assert_eq!(count(&judge(barred, &entry("length='1'")), "TIME-2"), 1, "it is one fault");
}

#[test]
fn o826_a_change_list_without_metadata_is_no_notification() {
    let text = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
                xmlns:rs='http://www.openarchives.org/rs/terms/'>\
                <rs:ln rel='up' href='http://e.org/caps.xml'/>\
                <url><loc>http://e.org/a</loc><rs:md change='created'/></url></urlset>";
    let rules = |text: &str, options: ValidateOptions| {
        let report = judge_text(text, options);
        (count(&report, "GEN-3"), count(&report, "N8-5"))
    };
    assert_eq!(rules(text, ValidateOptions::new()), (0, 1));
    let (mut listed, mut member) = (ValidateOptions::new(), ValidateOptions::new());
    (listed.expected, member.below_index) = (Some(Capability::ChangeList), true);
    assert_eq!(rules(text, listed), (1, 0));
    assert_eq!(rules(text, member), (1, 0));
    let manifest = text.replace("'created'", "'created' path='/a'");
    assert_eq!(rules(&manifest, ValidateOptions::new()), (1, 0));
}

#[test]
fn o827_the_manifest_of_a_package_leads_to_the_capability_list_of_its_dump() {
    let package = "<url><loc>http://e.org/other.zip</loc><rs:md type='application/zip' length='1'/></url>";
    for (dump, manifest, rule) in [
        ("'resourcedump' at='2013-01-03T00:00:00Z'", "resourcedump-manifest", "RDM-3"),
        ("'changedump' from='2013-01-03T00:00:00Z'", "changedump-manifest", "CDM-3"),
    ] {
        for (up, found) in [("http://e.org/caps.xml", false), ("http://e.org/leading.xml", true)] {
            let text = format!(
                "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
                 xmlns:rs='http://www.openarchives.org/rs/terms/'><rs:md capability='{manifest}'/>\
                 <rs:ln rel='up' href='{up}'/></urlset>"
            );
            let mut set = DocumentSet::new();
            set.insert("http://e.org/leading.xml".parse().unwrap(), judge(dump, package));
            let inside = judge_text(&text, ValidateOptions::new());
            set.insert("http://e.org/other.zip".parse().unwrap(), inside);
            let rules: Vec<_> = set.check().into_iter().map(|(_, finding)| finding.rule).collect();
            assert_eq!(rules.contains(&rule), found, "{up}: {rules:?}");
        }
    }
}

#[test]
fn o833_two_spellings_of_a_path_are_one_path() {
    let from = "2013-01-03T00:00:00Z";
    for (path, again) in [("/b", 0), ("/a", 1), ("a", 1), ("/./a", 1), ("//a", 1)] {
        let change = |path: &str| {
            format!("<url><loc>http://e.org/a</loc><rs:md change='updated' path='{path}' type='a/b'/></url>")
        };
        let capability = format!("'changedump-manifest' from='{from}'");
        let report = judge(&capability, &[change("/a"), change(path)].concat());
        assert_eq!(count(&report, "CDM-10"), again, "{path}");

        let entry = |path: &str| {
            let entry = crate::Entry::changed(
                "http://e.org/a".parse().unwrap(),
                Change::Updated,
                from.parse().unwrap(),
            );
            entry.with_path(PackagePath::new(path))
        };
        let manifest =
            ChangeDumpManifest::new(from.parse().unwrap(), "http://e.org/caps.xml".parse().unwrap());
        let written = manifest.push(entry("/a")).push(entry(path)).to_xml();
        assert_eq!(written.is_err(), again > 0 || !path.starts_with('/'), "{path}");
    }
}

#[test]
fn o834_case_and_parameters_make_no_other_media_type() {
    for (media_type, differs) in
        [("text/html", 0), ("Text/HTML", 0), ("text/html;charset=utf-8", 0), ("text/plain", 1)]
    {
        let entry = format!(
            "<url><loc>http://e.org/a</loc><rs:md type='text/html'/>\
             <rs:ln rel='duplicate' href='http://m.org/a' type='{media_type}'/></url>"
        );
        let report = judge("'resourcelist' at='2013-01-03T00:00:00Z'", &entry);
        assert_eq!((report.summary.errors, count(&report, "LN-4")), (differs, 1), "{media_type}");
    }
    let packages = "<url><loc>http://e.org/a</loc><rs:md type='application/zip' length='5'/></url>\
                    <url><loc>http://e.org/b</loc><rs:md type='application/ZIP' length='5'/></url>";
    let report = judge("'changedump' from='2013-01-03T00:00:00Z'", packages);
    assert_eq!((count(&report, "ZIP-2"), count(&report, "CD-12")), (0, 0), "{report:?}");
}

#[test]
fn o836_a_loc_with_brackets_or_a_percent_sign_names_a_resource() {
    for (loc, meant) in [
        ("http://e.org/a[1].txt", "http://e.org/a%5B1%5D.txt"),
        ("http://e.org/100%", "http://e.org/100%25"),
        ("http://e.org/%zz%20", "http://e.org/%25zz%20"),
        ("http://[::1]/a[1]", "http://[::1]/a%5B1%5D"),
    ] {
        let entry = format!("<url><loc>{loc}</loc></url>");
        let report = judge("'resourcelist' at='2013-01-03T00:00:00Z'", &entry);
        assert_eq!(count(&report, "GEN-14"), 1, "{report:?}");
        assert!(report.lists(&meant.parse().unwrap()), "{loc}");
    }
}

/// Returns the rules of the findings about a document that leads to another one, and about that one.
fn judge_together(leading: Report, other: &str) -> Vec<&'static str> {
    let mut set = DocumentSet::new();
    set.insert("http://e.org/leading.xml".parse().unwrap(), leading);
    set.insert("http://e.org/other.xml".parse().unwrap(), judge(other, ""));
    set.check().into_iter().map(|(_, finding)| finding.rule).collect()
}

/// The interval of the other document, as the leading one states it.
const INTERVAL: &str = "from='2013-01-03T00:00:00Z' until='2013-01-04T00:00:00Z'";

#[test]
fn o838_only_a_change_document_is_open() {
    let entry = format!("<sitemap><loc>http://e.org/other.xml</loc><rs:md {INTERVAL}/></sitemap>");
    let rules = |other: &str| {
        let index = judge_as("sitemapindex", "'changelist' from='2013-01-03T00:00:00Z'", &entry);
        judge_together(index, other)
    };
    let open = rules("'changelist' from='2013-01-03T00:00:00Z'");
    assert!(open.contains(&"CLI-10"), "{open:?}");
    let other = rules("'resourcelist' at='2013-01-03T00:00:00Z'");
    assert!(other.contains(&"GEN-10") && !other.contains(&"CLI-10"), "{other:?}");
}

#[test]
fn o839_an_archive_lists_closed_documents_only() {
    let entry = format!("<url><loc>http://e.org/other.xml</loc><rs:md {INTERVAL}/></url>");
    for (archive, rule) in [("'changelist-archive'", "ARC-9"), ("'changedump-archive'", "ARC-10")] {
        let archived = archive.replace("-archive", "");
        let rules =
            |metadata: &str| judge_together(judge(archive, &entry), &format!("{archived} {metadata}"));
        assert!(!rules(INTERVAL).contains(&rule));
        assert!(rules("from='2013-01-03T00:00:00Z'").contains(&rule), "{archive}");
        assert!(!rules("from='2013-01-04T00:00:00Z'").contains(&rule), "another document of its name");
    }
}

/// Validates a list without entries that has these metadata, and a link to the Capability List or above.
fn judge_linked(metadata: &str, rel: &str, href: &str) -> Report {
    let text = format!(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
         xmlns:rs='http://www.openarchives.org/rs/terms/'><rs:md capability={metadata}/>\
         <rs:ln rel='{rel}' href='http://e.org/{href}'/></urlset>"
    );
    judge_text(&text, ValidateOptions::new())
}

/// Returns the rules of the findings about two documents with the same content and one that both list.
fn judge_under_two(
    above: [&str; 2],
    content: impl Fn() -> Report,
    (name, listed): (&str, Report),
) -> Vec<&'static str> {
    let mut set = DocumentSet::new();
    for name in above {
        set.insert(format!("http://e.org/{name}").parse().unwrap(), content());
    }
    set.insert(format!("http://e.org/{name}").parse().unwrap(), listed);
    set.check().into_iter().map(|(_, finding)| finding.rule).collect()
}

#[test]
fn a7_a_document_that_two_others_list_agrees_with_the_one_that_it_names() {
    let at = "'resourcelist' at='2013-01-03T00:00:00Z'";
    let index = || judge_as("sitemapindex", at, "<sitemap><loc>http://e.org/part.xml</loc></sitemap>");
    for (named, found) in [("current.xml", false), ("archived.xml", false), ("other.xml", true)] {
        let part = ("part.xml", judge_linked(at, "index", named));
        let rules = judge_under_two(["current.xml", "archived.xml"], index, part);
        assert_eq!(rules.contains(&"NAV-4"), found, "{named}: {rules:?}");
    }
    let entry = "<url><loc>http://e.org/caps.xml</loc><rs:md capability='capabilitylist'/></url>";
    for (named, found) in [("sd.xml", false), ("well-known", false), ("other.xml", true)] {
        let caps = ("caps.xml", judge_linked("'capabilitylist'", "up", named));
        let rules = judge_under_two(["sd.xml", "well-known"], || judge("'description'", entry), caps);
        assert_eq!(rules.contains(&"CAP-3"), found, "{named}: {rules:?}");
    }
}

#[test]
fn o1000_a_path_in_an_index_of_change_lists_breaks_no_rule_of_change_lists() {
    let from = "'changelist' from='2013-01-03T00:00:00Z'";
    for (root, entry, also) in [("urlset", "url", 1), ("sitemapindex", "sitemap", 0)] {
        let entries = format!("<{entry}><loc>http://e.org/a</loc><rs:md path='/a'/></{entry}>");
        let report = judge_as(root, from, &entries);
        assert_eq!((count(&report, "ATT-16"), count(&report, "CL-9")), (1, also), "{report:?}");
    }
}

#[test]
fn o1001_a_length_that_cannot_be_read_is_wrong_and_not_missing() {
    for (dump, rule) in [
        ("'resourcedump' at='2013-01-03T00:00:00Z'", "RD-7"),
        ("'changedump' from='2013-01-03T00:00:00Z'", "CD-8"),
    ] {
        for (length, unreadable, missing) in [("length='1'", 0, 0), ("length='one'", 1, 0), ("", 0, 1)] {
            let entry =
                format!("<url><loc>http://e.org/a.zip</loc><rs:md type='application/zip' {length}/></url>");
            // The second package shows that a fault of the first is not remembered.
            let right = "<url><loc>http://e.org/b.zip</loc><rs:md type='application/zip' length='1'/></url>";
            let report = judge(dump, &[entry.as_str(), right].concat());
            let found = (count(&report, "ATT-15"), count(&report, rule));
            assert_eq!(found, (unreadable, missing), "{dump} {length}: {report:?}");
        }
    }
}

#[test]
fn o1002_a_package_outside_the_interval_of_its_change_dump_is_found() {
    let dump = "'changedump' from='2013-01-03T00:00:00Z' until='2013-01-05T00:00:00Z'";
    for (interval, found) in [
        ("from='2013-01-03T00:00:00Z' until='2013-01-05T00:00:00Z'", 0),
        ("from='2013-01-03' until='2013-01-04'", 0),
        ("from='2013-01-02T23:59:59Z' until='2013-01-04T00:00:00Z'", 1),
        ("from='2013-01-03T00:00:00Z' until='2013-01-05T00:00:01Z'", 1),
        ("from='2013-01-06T00:00:00Z'", 1),
    ] {
        let metadata = format!("type='application/zip' length='1' {interval}");
        let report = judge(dump, &format!("<url><loc>http://e.org/a.zip</loc><rs:md {metadata}/></url>"));
        assert_eq!(count(&report, "CDM-2"), found, "{interval}: {report:?}");
    }
}

#[test]
fn o1003_a_capability_list_offers_no_capability_list_and_no_manifest() {
    for (capability, found) in [
        ("resourcelist", 0),
        ("changedump-archive", 0),
        ("change-notification", 0),
        ("capabilitylist", 1),
        ("description", 1),
        ("resourcedump-manifest", 1),
    ] {
        let entry = format!("<url><loc>http://e.org/a</loc><rs:md capability='{capability}'/></url>");
        let report = judge("'capabilitylist'", &entry);
        assert_eq!((count(&report, "CAP-6"), report.summary.errors), (found, 0), "{capability}: {report:?}");
    }
}

#[test]
fn o1004_an_attribute_that_the_sitemap_schema_does_not_have_is_found() {
    let text = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
                xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='a b' version='1'>\n\
                <url><loc>http://e.org/a</loc></url>\n<url>\n <loc id='1'>http://e.org/b</loc>\
                <lastmod xml:space='default'>2013-01-03T00:00:00Z</lastmod></url>\n\
                <url><loc id='2'>http://e.org/c</loc></url></urlset>";
    let report = judge_text(text, ValidateOptions::new());
    let stray = report.findings.iter().filter(|finding| finding.rule == "GEN-23");
    let places: Vec<_> = stray.map(|finding| (finding.position.line, finding.position.column)).collect();
    assert_eq!((places, report.summary.errors), (vec![(1, 1), (4, 2)], 0), "{report:?}");
}

/// Returns the finding about the coverage of a Resource List at three o'clock and of a Resource Dump at five o'clock, with
/// the resources that each has, and a Change List from a time.
fn coverage((listed, packed): (&str, &str), from: &str, changes: &[(&str, &str)]) -> Option<Finding> {
    let uri = |name: &str| -> Uri { format!("http://e.org/{name}").parse().unwrap() };
    let offer = |name: &str, capability: &str| {
        format!("<url><loc>http://e.org/{name}</loc><rs:md capability='{capability}'/></url>")
    };
    let offers = [
        offer("list.xml", "resourcelist"),
        offer("dump.xml", "resourcedump"),
        offer("changes.xml", "changelist"),
    ];
    let resources = |names: &str, metadata: &str| -> String {
        let entry = |name: char| format!("<url><loc>http://e.org/{name}</loc><rs:md {metadata}/></url>");
        names.chars().map(entry).collect()
    };
    let hour = |hour: &str| format!("2013-01-03T0{hour}:00:00Z");
    let changes = changes
        .iter()
        .map(|(change, at)| resources("x", &format!("change='{change}' datetime='{}'", hour(at))));
    let package = "<url><loc>http://e.org/p.zip</loc><rs:md type='application/zip' length='1'/></url>";
    let mut set = DocumentSet::new();
    let list = judge(&format!("'resourcelist' at='{}'", hour("3")), &resources(listed, "length='1'"));
    let manifest = format!("'resourcedump-manifest' at='{}'", hour("5"));
    set.insert(uri("caps.xml"), judge("'capabilitylist'", &offers.concat()));
    set.insert(uri("list.xml"), list);
    set.insert(uri("dump.xml"), judge(&format!("'resourcedump' at='{}'", hour("5")), package));
    set.insert(uri("p.zip"), judge(&manifest, &resources(packed, "path='/a'")));
    let changes = judge(&format!("'changelist' from='{}'", hour(from)), &changes.collect::<String>());
    set.insert(uri("changes.xml"), changes);
    set.check().into_iter().map(|(_, finding)| finding).find(|finding| finding.rule == "CAP-9")
}

#[test]
fn o1005_changes_that_a_source_does_not_keep_any_more_explain_a_difference() {
    let severity = |from: &str| coverage(("ax", "a"), from, &[]).map(|finding| finding.severity);
    assert_eq!(severity("1"), Some(Severity::Error), "no change explains it");
    assert_eq!(severity("3"), Some(Severity::Error));
    assert_eq!(severity("4"), Some(Severity::Info), "it may have been deleted before");
}

#[test]
fn o1006_a_dump_may_lack_a_resource_before_the_source_notices_its_deletion() {
    let found = |changes: &[(&str, &str)]| coverage(("ax", "a"), "1", changes).is_some();
    assert!(found(&[]));
    assert!(!found(&[("deleted", "4")]));
    assert!(!found(&[("deleted", "6")]));
    assert!(found(&[("updated", "6")]));
}

#[test]
fn o1009_a_time_on_an_entry_weighs_the_same_in_both_kinds_of_notifications() {
    for notification in ["'change-notification'", "'framework-notification'"] {
        let metadata = "change='updated' capability='changelist' at='2013-01-03T00:00:00Z'";
        let report = judge(notification, &format!("<url><loc>http://e.org/a</loc><rs:md {metadata}/></url>"));
        let found = (count(&report, "ATT-5"), count(&report, "TIME-1"), report.summary.errors);
        assert_eq!(found, (1, 0, 0), "{notification}: {report:?}");
    }
}
