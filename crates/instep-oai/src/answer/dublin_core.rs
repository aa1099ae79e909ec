//! Dublin Core generated from the Source's metadata of a resource, for resources that are not metadata themselves.
//! PURE.

use percent_encoding::percent_decode_str;
use quick_xml::escape::escape;
use resourcesync::{DateTime, MediaType};

use super::format::RecordFormat;
use crate::well_formed::is_allowed;

/// The prefix of the format that each repository has (OAI-PMH §2.5).
pub(super) const PREFIX: &str = "oai_dc";
const NAMESPACE: &str = "http://www.openarchives.org/OAI/2.0/oai_dc/";
const SCHEMA: &str = "http://www.openarchives.org/OAI/2.0/oai_dc.xsd";

/// Media types that are no `text/...`, and are texts all the same.
const TEXTS: [&str; 8] = [
    "application/pdf",
    "application/postscript",
    "application/epub+zip",
    "application/rtf",
    "application/msword",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.oasis.opendocument.text",
    "application/x-tex",
];
/// Media types of data that programs read.
const DATASETS: [&str; 10] = [
    "text/csv",
    "text/tab-separated-values",
    "application/json",
    "application/geo+json",
    "application/ld+json",
    "application/vnd.ms-excel",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/x-netcdf",
    "application/x-hdf5",
];
/// Media types of files that hold others.
const COLLECTIONS: [&str; 5] = [
    "application/zip",
    "application/gzip",
    "application/x-tar",
    "application/x-7z-compressed",
    "application/x-bzip2",
];

/// Returns the format of the documents that [`dublin_core`] makes.
pub(super) fn generated_format() -> RecordFormat {
    RecordFormat { prefix: PREFIX.to_owned(), namespace: NAMESPACE.to_owned(), schema: SCHEMA.to_owned() }
}

/// Returns an element that describes a resource: the name of its file as title, its URI, the date of its last change,
/// its term in the DCMI Type Vocabulary, and its media type. Unknown values are left out.
pub(super) fn dublin_core(uri: &str, date: Option<DateTime>, media_type: Option<&MediaType>) -> String {
    let essence = media_type.map(|media_type| media_type.essence().to_ascii_lowercase());
    let mut element = format!(
        "<oai_dc:dc xmlns:oai_dc=\"{NAMESPACE}\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"{NAMESPACE} {SCHEMA}\">\n"
    );
    let mut field = |name: &str, text: &str| {
        element.push_str(&format!("<dc:{name}>{}</dc:{name}>\n", escape(text)));
    };
    field("title", &title(uri));
    field("identifier", uri);
    if let Some(date) = date {
        field("date", &DateTime::from_unix_seconds(date.instant().0).to_string());
    }
    if let Some(kind) = essence.as_deref().and_then(kind) {
        field("type", kind);
    }
    if let Some(essence) = &essence {
        field("format", essence);
    }
    element.push_str("</oai_dc:dc>");
    element
}

/// Returns the last segment of the path that has a name, as people read it.
fn title(uri: &str) -> String {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    let segment = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    let decoded = percent_decode_str(segment).decode_utf8_lossy();
    decoded.chars().map(|c| if is_allowed(c) { c } else { '\u{fffd}' }).collect()
}

/// Returns the term of the DCMI Type Vocabulary for a media type; `None` if no term fits.
fn kind(essence: &str) -> Option<&'static str> {
    let is_xml = essence.ends_with("+xml") || matches!(essence, "application/xml" | "text/xml");
    Some(match essence.split_once('/')?.0 {
        _ if DATASETS.contains(&essence) => "Dataset",
        _ if COLLECTIONS.contains(&essence) => "Collection",
        _ if TEXTS.contains(&essence) => "Text",
        "image" => "StillImage",
        "video" => "MovingImage",
        "audio" => "Sound",
        _ if is_xml => "Dataset",
        "text" => "Text",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_described_by_what_is_known_of_it() {
        let date = DateTime::parse("2026-03-01T12:00:00.25+01:00").ok();
        let text =
            dublin_core("http://x/a%20%26%20b.PDF?v=1", date, Some(&MediaType::new("Application/PDF; v=1")));
        for expected in [
            "<dc:title>a &amp; b.PDF</dc:title>",
            "<dc:identifier>http://x/a%20%26%20b.PDF?v=1</dc:identifier>",
            "<dc:date>2026-03-01T11:00:00Z</dc:date>",
            "<dc:type>Text</dc:type>",
            "<dc:format>application/pdf</dc:format>",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let least = dublin_core("http://x/%00/", None, None);
        assert!(least.contains("<dc:title>\u{fffd}</dc:title>"), "{least}");
        assert!(!least.contains("dc:type") && !least.contains("dc:date"), "{least}");
    }

    #[test]
    fn types_are_those_of_the_vocabulary() {
        for (essence, expected) in [
            ("image/svg+xml", Some("StillImage")),
            ("text/csv", Some("Dataset")),
            ("application/rdf+xml", Some("Dataset")),
            ("text/html", Some("Text")),
            ("application/zip", Some("Collection")),
            ("audio/flac", Some("Sound")),
            ("video/mp4", Some("MovingImage")),
            ("application/octet-stream", None),
            ("nothing", None),
        ] {
            assert_eq!(kind(essence), expected, "{essence}");
        }
    }
}
