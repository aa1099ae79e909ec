//! The compressed copy of a document beside it, which a server sends in its place.

use super::findings::Report;
use crate::finding::Finding;

/// Checks that the compressed copy of a document has its content (GEN-27). One that cannot be read has findings of its own.
pub(super) fn check_twin(document: &Report, twin: &Report) -> Option<Finding> {
    let header = twin.header.as_ref().filter(|_| document.header.is_some())?;
    let is_same = document.header.as_ref() == Some(header)
        && (document.entries, document.bytes) == (twin.entries, twin.bytes)
        && document.children == twin.children
        && document.locs == twin.locs
        && document.changes == twin.changes;
    (!is_same).then(|| {
        let found = "other content than the document without .gz";
        Finding::of("GEN-27", header.places.root, found, "the same content, compressed")
    })
}

#[cfg(test)]
mod tests {
    use crate::validate::{DocumentSet, ValidateOptions, Validator};

    #[test]
    fn o726_a_compressed_copy_with_other_content_than_its_document_is_found() {
        let report = |at: &str| {
            let text = format!(
                "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
                 xmlns:rs='http://www.openarchives.org/rs/terms/'>\
                 <rs:ln rel='up' href='http://example.org/capabilitylist.xml'/>\
                 <rs:md capability='resourcelist' at='{at}'/></urlset>"
            );
            Validator::new(ValidateOptions::new()).document(text.as_bytes()).unwrap()
        };
        let now = "2013-01-03T09:00:00Z";
        for (at, expected) in [(now, 0), ("2013-01-02T09:00:00Z", 1)] {
            let mut set = DocumentSet::new();
            set.insert("http://example.org/list.xml".parse().unwrap(), report(now));
            set.insert("http://example.org/list.xml.gz".parse().unwrap(), report(at));
            let found = set
                .check()
                .into_iter()
                .filter(|(uri, finding)| finding.rule == "GEN-27" && uri.as_str().ends_with("/list.xml.gz"));
            assert_eq!(found.count(), expected, "{at}");
        }
    }
}
