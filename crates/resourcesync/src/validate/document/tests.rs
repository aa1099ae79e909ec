//! Documents that a validator must judge alike, however they are written.

use super::{Report, Validator};
use crate::{PackagePath, document::ChangeDumpManifest, value::Change};

/// Validates a document of a capability, which is the value of the attribute and those after it.
fn judge(capability: &str, entries: &str) -> Report {
    let text = format!(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
         xmlns:rs='http://www.openarchives.org/rs/terms/'><rs:md capability={capability}/>\
         <rs:ln rel='up' href='http://e.org/caps.xml'/>{entries}</urlset>"
    );
    Validator::default().document(text.as_bytes()).unwrap()
}

fn count(report: &Report, rule: &str) -> u64 {
    report.summary.rules.get(rule).copied().unwrap_or_default()
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
