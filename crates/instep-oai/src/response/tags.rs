//! Tags and references of a response.

use quick_xml::{Reader, events::BytesStart};

use super::parts::{OaiRecord, ProtocolError};

/// The declaration that begins each document.
pub(super) const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
/// The message for a response that ends within an element.
pub(super) const BREAKS_OFF: &str = "the response is truncated";

pub(super) fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_comments = true;
    // After damage the reader begins in the middle: end tags of surrounding elements come without their start tags.
    config.allow_unmatched_ends = true;
    reader
}

pub(super) fn local<'a>(tag: &'a BytesStart<'_>) -> &'a str {
    let name = tag.name().into_inner();
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Returns the name without prefix at the beginning of a tag whose `<` was already read. Only its first bytes are read,
/// because in a damaged response no name may have an end.
pub(super) fn element_name(tag: &str) -> &str {
    const LONGEST_NAME: usize = 64;
    let start = &tag.as_bytes()[..tag.len().min(LONGEST_NAME)];
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let end = start.iter().position(is_end).unwrap_or(start.len());
    let name = tag.get(..end).unwrap_or_default();
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let found =
        tag.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name);
    found.map_or(String::new(), |attribute| attribute.value.trim().to_owned())
}

pub(super) fn is_deleted(tag: &BytesStart<'_>) -> bool {
    attribute(tag, "status").eq_ignore_ascii_case("deleted")
}

/// Returns the number of records in the whole list that a token states; `None` if it states none.
pub(super) fn list_size(tag: &BytesStart<'_>) -> Option<u64> {
    attribute(tag, "completeListSize").parse().ok()
}

pub(super) fn header_alone(tag: &BytesStart<'_>) -> OaiRecord {
    OaiRecord { is_deleted: is_deleted(tag), ..OaiRecord::default() }
}

pub(super) fn protocol_error(tag: &BytesStart<'_>, message: String) -> ProtocolError {
    ProtocolError { code: attribute(tag, "code"), message }
}

/// Returns the text of the first identifier in a damaged record.
pub(super) fn identifier_in(damaged: &str) -> Option<String> {
    let (_, rest) = damaged.split_once("identifier>")?;
    let identifier = rest.split('<').next()?.trim();
    let is_sane =
        !identifier.is_empty() && identifier.len() <= 1_000 && !identifier.contains(char::is_control);
    is_sane.then(|| identifier.to_owned())
}
