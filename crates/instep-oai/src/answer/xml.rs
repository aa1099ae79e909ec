//! Responses as they are written (OAI-PMH §3.2). PURE.

use std::fmt::Write as _;

use quick_xml::escape::escape;

use super::arguments::OaiFault;
use crate::well_formed::is_allowed;

/// The beginning of each response.
const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xsi:schemaLocation=\"http://www.openarchives.org/OAI/2.0/ http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd\">\n";

/// A response that is being written.
#[derive(Debug, Default)]
pub(super) struct ResponseWriter(String);

impl ResponseWriter {
    /// Writes an element with a text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.0, "<{name}>{}</{name}>", escaped(text));
    }

    /// Writes a start tag.
    pub(super) fn open(&mut self, name: &str) {
        let _ = writeln!(self.0, "<{name}>");
    }

    /// Writes an end tag.
    pub(super) fn close(&mut self, name: &str) {
        let _ = writeln!(self.0, "</{name}>");
    }

    /// Writes an element as it is.
    pub(super) fn raw(&mut self, element: &str) {
        self.0.push_str(element);
        self.0.push('\n');
    }

    /// Returns the number of bytes written.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes everything written after this many bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Writes a header.
    pub(super) fn header(&mut self, identifier: &str, datestamp: &str, sets: &[&str], is_deleted: bool) {
        self.0.push_str(if is_deleted { "<header status=\"deleted\">" } else { "<header>" });
        self.text("identifier", identifier);
        self.text("datestamp", datestamp);
        sets.iter().for_each(|set| self.text("setSpec", set));
        self.close("header");
    }

    /// Writes the token of the next part; an empty one ends a list in several parts.
    pub(super) fn token(&mut self, token: Option<&str>, cursor: u64, size: u64) {
        let token = token.unwrap_or_default();
        let _ = writeln!(
            self.0,
            "<resumptionToken completeListSize=\"{size}\" cursor=\"{cursor}\">{token}</resumptionToken>"
        );
    }
}

/// Returns a text for an element or attribute. A request may have characters that XML does not; they become U+FFFD.
fn escaped(text: &str) -> String {
    let allowed = |c: char| if is_allowed(c) { c } else { char::REPLACEMENT_CHARACTER };
    escape(text.chars().map(allowed).collect::<String>()).into_owned()
}

/// Returns a complete response: the result of a request, or its fault.
pub(super) fn response(
    date: &str,
    base_url: &str,
    arguments: &[(String, String)],
    result: Result<ResponseWriter, OaiFault>,
) -> String {
    let mut text = BEGIN.to_owned();
    let _ = write!(text, "<responseDate>{date}</responseDate>\n<request");
    if !result.as_ref().is_err_and(OaiFault::is_about_arguments) {
        for (name, value) in arguments {
            let _ = write!(text, " {name}=\"{}\"", escaped(value));
        }
    }
    let _ = writeln!(text, ">{}</request>", escaped(base_url));
    match result {
        Ok(writer) => text.push_str(&writer.0),
        Err(fault) => {
            let _ = writeln!(text, "<error code=\"{}\">{}</error>", fault.code, escaped(&fault.message));
        }
    }
    text.push_str("</OAI-PMH>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::{OaiFault, response};

    #[test]
    fn o233_characters_of_a_request_that_xml_does_not_have_leave_the_response_well_formed() {
        let argument = ("identifier".to_owned(), "a\u{1}\u{fffe}<\u{e9}".to_owned());
        let fault = OaiFault::new("idDoesNotExist", "a\u{0}b");
        let text = response("2026-01-01T00:00:00Z", "http://e.org/oai", &[argument], Err(fault));
        assert!(text.contains("identifier=\"a\u{fffd}\u{fffd}&lt;\u{e9}\""), "{text}");
        assert!(text.contains("a\u{fffd}b") && text.chars().all(crate::well_formed::is_allowed), "{text}");
    }
}
