//! The links between the resources of one item: its records, what the repository says about them, and its full texts. PURE.

use resourcesync::{Link, MediaType, Relation, Uri};

use crate::harvest::{HarvestedFile, HarvestedKind};

/// The most links of a resource. Readers take 100 of an entry, and a Source may add some. Each full text has a link to its
/// records, so that none of them is without a description.
pub(super) const MOST_LINKS: usize = 90;

/// Returns the links from a resource to the others of its item, each with the path of its target. There are at most `most`:
/// those to full texts, which may be many, are left out first.
pub(super) fn siblings(
    from: &HarvestedFile,
    companions: &[HarvestedFile],
    most: usize,
) -> Vec<(Link, Vec<u8>)> {
    let is_text = |other: &&HarvestedFile| other.kind == HarvestedKind::FullText;
    let (texts, others): (Vec<_>, Vec<_>) = companions.iter().partition(is_text);
    others.into_iter().chain(texts).filter_map(|other| sibling(from, other)).take(most).collect()
}

/// Returns the link from one resource of an item to another.
fn sibling(from: &HarvestedFile, to: &HarvestedFile) -> Option<(Link, Vec<u8>)> {
    use HarvestedKind::{About, FullText, Record};
    let is_same_format = from.format == to.format;
    let rel = match (from.kind, to.kind) {
        (Record, Record) => Relation::Alternate,
        (Record, About) if is_same_format => Relation::DescribedBy,
        (About, Record) if is_same_format => Relation::Describes,
        (Record, FullText) => Relation::Describes,
        (FullText, Record) => Relation::DescribedBy,
        _ => return None,
    };
    let mut link = Link::new(rel, Uri::default());
    link.media_type = to.media_type.as_deref().map(MediaType::new);
    Some((link, to.path.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use resourcesync::Digests;

    use super::*;

    fn file(kind: HarvestedKind, format: &str, path: String) -> HarvestedFile {
        HarvestedFile {
            path,
            kind,
            format: format.to_owned(),
            identifier: "a".to_owned(),
            length: None,
            digests: Digests::new(),
            media_type: None,
            url: None,
            datestamp: String::new(),
            sets: Vec::new(),
        }
    }

    #[test]
    fn o687_a_record_has_no_more_links_than_readers_take_and_those_to_other_formats_first() {
        use HarvestedKind::{FullText, Record};
        let record = file(Record, "mets", "records/mets/a.xml".to_owned());
        let mut companions: Vec<_> =
            (0..600).map(|page| file(FullText, "mets", format!("files/a/{page}.jpg"))).collect();
        companions.push(file(Record, "oai_dc", "records/oai_dc/a.xml".to_owned()));
        let links = siblings(&record, &companions, 99);
        assert_eq!(links.len(), 99);
        assert_eq!(links[0].1, b"records/oai_dc/a.xml");
        assert_eq!(links[1].0.rel, Relation::Describes);
    }
}
