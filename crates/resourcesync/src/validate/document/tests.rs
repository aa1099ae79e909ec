//! Documents that a validator must judge alike, however they are written.

use super::{Report, Validator};
use crate::{PackagePath, document::ChangeDumpManifest, validate::DocumentSet, value::Change};

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
    Validator::default().document(text.as_bytes()).unwrap()
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
