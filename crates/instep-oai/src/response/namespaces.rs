//! The namespace declarations around a part of a response, which the part needs when it stands alone.

use quick_xml::events::BytesStart;

/// Prefixes that repositories use without declaring them, and their meanings.
const WELL_KNOWN: [(&str, &str); 5] = [
    ("xsi", "http://www.w3.org/2001/XMLSchema-instance"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("oai_dc", "http://www.openarchives.org/OAI/2.0/oai_dc/"),
    ("xlink", "http://www.w3.org/1999/xlink"),
];

/// The most declarations that are kept; each prefix that a record uses is looked up among them.
const MOST_DECLARATIONS: usize = 1_000;

/// Declarations in scope: prefix (empty for the default namespace) and the value as it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct InScope(Vec<(String, String)>);

impl InScope {
    /// Adds the declarations of a start tag, as far as they are not too many.
    pub(crate) fn enter(&mut self, tag: &BytesStart<'_>) {
        let room = MOST_DECLARATIONS.saturating_sub(self.0.len());
        self.0.extend(declared(tag).into_iter().take(room));
    }

    /// Returns the number of declarations, to come back to.
    pub(crate) fn mark(&self) -> usize {
        self.0.len()
    }

    /// Drops the declarations since a mark.
    pub(crate) fn leave(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    /// Returns the declaration of a prefix as an attribute; `None` if it is unknown.
    pub(crate) fn attribute(&self, prefix: &str) -> Option<String> {
        let declared = self.0.iter().rev().find(|(name, _)| name == prefix).map(|(_, value)| value.as_str());
        let known = || WELL_KNOWN.iter().find(|(name, _)| *name == prefix).map(|(_, uri)| *uri);
        let value = declared.or_else(known)?.replace('"', "&quot;");
        Some(match prefix {
            "" => format!(" xmlns=\"{value}\""),
            _ => format!(" xmlns:{prefix}=\"{value}\""),
        })
    }
}

/// Returns the declarations of a start tag.
pub(crate) fn declared(tag: &BytesStart<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for attribute in tag.attributes().with_checks(false).flatten() {
        let key: &str = attribute.key.as_ref();
        let prefix = match key.strip_prefix("xmlns") {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix(':'),
            None => None,
        };
        let Some(prefix) = prefix else { continue };
        found.push((prefix.to_owned(), attribute.value.into_owned()));
    }
    found
}
