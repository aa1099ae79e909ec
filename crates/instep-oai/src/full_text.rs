//! The full texts that a record names. PURE.

use std::collections::BTreeSet;

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use resourcesync::Uri;

/// The most full texts of one record: a digitized book may name a file for each page, in several sizes.
pub(crate) const MOST_FULL_TEXTS: usize = 10_000;

/// Endings of paths that are files, not pages about them.
const ENDINGS: [&str; 24] = [
    "pdf", "ps", "gz", "zip", "tar", "tgz", "epub", "doc", "docx", "odt", "rtf", "txt", "tex", "ppt", "pptx",
    "xls", "xlsx", "csv", "tif", "tiff", "jpg", "jpeg", "png", "mp4",
];

/// Parts of paths below which repositories serve files: DSpace, OJS, Invenio, Dataverse, Opus.
const PLACES: [&str; 6] =
    ["/bitstream/", "/bitstreams/", "/article/download/", "/files/", "/api/access/datafile/", "/deliver/"];

/// Elements whose text is the URL of a file in any case: METS and RIOXX, by their local names.
const FILE_ELEMENTS: [&str; 2] = ["FLocat", "file"];

/// Returns the URLs of the files that a record of any XML format names, in their order, each once.
///
/// METS (`FLocat`), ORE (`aggregates`) and MODS (`raw object`) name files explicitly. In the other formats, mainly
/// Dublin Core, a URL counts as that of a file if its path ends like a file name, or is one under which repositories
/// serve files.
pub(crate) fn full_texts(document: &[u8]) -> Vec<Uri> {
    let Ok(text) = std::str::from_utf8(document) else { return Vec::new() };
    let mut reader = Reader::from_str(text);
    let (mut found, mut named) = (Vec::new(), BTreeSet::new());
    let mut take = |url: &str, is_named_as_file: bool| {
        let url = url.trim();
        if let Some(uri) = Some(url).filter(|url| is_named_as_file || is_file(url)).and_then(http)
            && found.len() < MOST_FULL_TEXTS
            && named.insert(uri.clone())
        {
            found.push(uri);
        }
    };
    let (mut value, mut is_named) = (String::new(), false);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                value.clear();
                is_named = names_a_file(&tag);
                take_attributes(&tag, &mut take);
            }
            Ok(Event::Empty(tag)) => take_attributes(&tag, &mut take),
            Ok(Event::Text(part)) => value.push_str(&part),
            Ok(Event::CData(part)) => value.push_str(&part),
            Ok(Event::GeneralRef(reference)) => {
                value.push_str(quick_xml::escape::resolve_predefined_entity(&reference).unwrap_or_default());
            }
            Ok(Event::End(_)) => {
                take(&value, std::mem::take(&mut is_named));
                value.clear();
            }
            Ok(Event::Eof) | Err(_) => return found,
            Ok(_) => {}
        }
    }
}

/// Returns `true` for an element whose text is the URL of a file.
fn names_a_file(tag: &BytesStart<'_>) -> bool {
    let raw_object = |attribute: &quick_xml::events::attributes::Attribute<'_>| {
        attribute.key.as_ref() == "access" && attribute.value == "raw object"
    };
    tag.local_name().as_ref() == "url"
        && tag.attributes().with_checks(false).flatten().any(|one| raw_object(&one))
}

fn take_attributes(tag: &BytesStart<'_>, take: &mut impl FnMut(&str, bool)) {
    if !tag.contains("http") {
        return;
    }
    let name = tag.local_name().into_inner();
    let is_aggregate = tag.contains("http://www.openarchives.org/ore/terms/aggregates");
    for attribute in tag.attributes().with_checks(false).flatten() {
        let key = attribute.key.local_name().into_inner();
        let is_link = matches!(key, "href" | "resource");
        if is_link && let Ok(url) = quick_xml::escape::unescape(&attribute.value) {
            take(&url, is_aggregate || FILE_ELEMENTS.contains(&name));
        }
    }
}

fn http(url: &str) -> Option<Uri> {
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    is_http.then(|| Uri::parse(&url.replace(' ', "%20")).ok()).flatten()
}

fn is_file(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let Some((_, path)) = rest.split_once('/') else { return false };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    let has_ending =
        ending.is_some_and(|ending| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)));
    has_ending || PLACES.iter().any(|place| format!("/{path}").contains(place))
}

#[cfg(test)]
mod tests {
    use super::full_texts;

    #[test]
    fn files_are_found_in_the_formats_of_repositories() {
        for (record, expected) in [
            (
                // EPrints
                "<dc><identifier>http://e/1/</identifier><identifier> http://e/1/1/A%20b.pdf </identifier>\
                 <identifier>Smith, J. (2001) http://e/x.pdf</identifier></dc>",
                vec!["http://e/1/1/A%20b.pdf"],
            ),
            (
                // DSpace
                "<dc><identifier>http://hdl.handle.net/1/2</identifier><identifier>https://d/bitstreams/77/download\
                 </identifier></dc>",
                vec!["https://d/bitstreams/77/download"],
            ),
            (
                // OJS
                "<dc><relation>https://o/index.php/j/article/view/1/2</relation><relation>https://o/index.php/j/article/\
                 download/1/2?a=1&amp;b=2</relation></dc>",
                vec!["https://o/index.php/j/article/download/1/2?a=1&b=2"],
            ),
            (
                r#"<mets xmlns:xlink="http://www.w3.org/1999/xlink"><file><FLocat xlink:href="http://d/x?seq=1&amp;y"/></file></mets>"#,
                vec!["http://d/x?seq=1&y"],
            ),
            (
                r#"<entry><link rel="http://www.openarchives.org/ore/terms/aggregates" href="http://d/any"/><link rel="self" href="http://d/me"/></entry>"#,
                vec!["http://d/any"],
            ),
            (
                r#"<mods><location><url access="raw object">http://m/raw</url><url>http://m/page</url></location></mods>"#,
                vec!["http://m/raw"],
            ),
            ("<dc><identifier>ftp://x/a.pdf</identifier><identifier>http://a.pdf</identifier></dc>", vec![]),
            ("<dc><a>http://x/a.pdf</a><b>http://x/a.pdf</b>", vec!["http://x/a.pdf"]),
        ] {
            let found = full_texts(record.as_bytes());
            assert!(found.iter().map(|uri| uri.as_str()).eq(expected.iter().copied()), "{record}: {found:?}");
        }
    }

    #[test]
    fn o687_a_book_with_many_pages_has_all_of_them() {
        let pages: String =
            (0..1_200).map(|page| format!("<FLocat href=\"http://d/{}\"/>", page % 600)).collect();
        assert_eq!(full_texts(format!("<mets>{pages}</mets>").as_bytes()).len(), 600);
    }
}
