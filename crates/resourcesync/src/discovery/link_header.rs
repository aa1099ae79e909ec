//! The `Link` field of HTTP (RFC 8288): several links in a field, parameters in any form; bad links are skipped.

use crate::value::{Relation, Uri};

/// A link of a `Link` field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderLink {
    /// The URI of the target, resolved.
    pub target: Uri,
    /// The relations; `rel` may name several.
    pub rels: Vec<Relation>,
    /// The thing that the link is about; `None` if that is the resource itself.
    pub anchor: Option<Uri>,
    /// The media type of the target.
    pub media_type: Option<String>,
    /// The time at which the target, a Memento, was the state of the resource; as written.
    pub datetime: Option<String>,
}

impl HeaderLink {
    /// Returns `true` if the link has a relation and is about the resource that carries it.
    pub fn is(&self, rel: &Relation, resource: &Uri) -> bool {
        self.rels.contains(rel) && self.anchor.as_ref().is_none_or(|anchor| anchor == resource)
    }
}

/// Returns the Capability Lists that a `Link` field names for a resource (DISC-4).
pub fn from_link_header(field: &str, resource: &Uri) -> Vec<Uri> {
    let links = parse_link_header(field, resource);
    let leads = |link: &HeaderLink| link.is(&Relation::ResourceSync, resource);
    links.into_iter().filter(leads).map(|link| link.target).collect()
}

/// Returns all links of a `Link` field. Targets are resolved against the resource that carries it.
pub fn parse_link_header(field: &str, resource: &Uri) -> Vec<HeaderLink> {
    let mut links = Vec::new();
    let mut rest = Cursor { text: field };
    while rest.skip_to_link() {
        links.extend(rest.link(resource));
    }
    links
}

struct Cursor<'f> {
    text: &'f str,
}

impl<'f> Cursor<'f> {
    /// Moves to the next `<` that starts a link. Commas and blanks separate links; anything else belongs to none.
    fn skip_to_link(&mut self) -> bool {
        while !self.text.is_empty() && !self.text.starts_with('<') {
            if self.text.starts_with('"') { drop(self.quoted()) } else { self.advance(1) }
        }
        !self.text.is_empty()
    }

    fn link(&mut self, resource: &Uri) -> Option<HeaderLink> {
        self.advance(1);
        let end = self.text.find('>').unwrap_or(self.text.len());
        let target = resource.resolve(self.text[..end].trim());
        // In bytes: a target that is no URI may have characters of several.
        self.text = self.text.get(end + 1..).unwrap_or_default();
        let (mut rels, mut anchor, mut media_type, mut datetime) = (None, None, None, None);
        while let Some((name, value)) = self.parameter() {
            match name.to_ascii_lowercase().as_str() {
                // Of several `rel` the first counts (RFC 8288 §3.3).
                "rel" if rels.is_none() => {
                    rels = Some(value.split_ascii_whitespace().map(Relation::parse).collect());
                }
                "anchor" if anchor.is_none() => anchor = Some(resource.resolve(&value)),
                "type" if media_type.is_none() => media_type = Some(value),
                "datetime" if datetime.is_none() => datetime = Some(value),
                _ => {}
            }
        }
        Some(HeaderLink {
            target: target.ok()?,
            rels: rels.unwrap_or_default(),
            anchor: anchor.transpose().ok()?,
            media_type,
            datetime,
        })
    }

    /// Reads the next `; name=value` of the link; the value may be missing, a token, or quoted.
    fn parameter(&mut self) -> Option<(&'f str, String)> {
        loop {
            self.skip_blanks();
            if !self.text.starts_with(';') {
                return None;
            }
            self.advance(1);
            self.skip_blanks();
            let name = self.token();
            self.skip_blanks();
            let value = if self.text.starts_with('=') {
                self.advance(1);
                self.skip_blanks();
                if self.text.starts_with('"') { self.quoted() } else { self.token().to_owned() }
            } else {
                String::new()
            };
            if !name.is_empty() {
                return Some((name, value));
            }
        }
    }

    fn token(&mut self) -> &'f str {
        let ends = |c: char| matches!(c, ';' | ',' | '=' | '"' | '<') || c.is_ascii_whitespace();
        let end = self.text.find(ends).unwrap_or(self.text.len());
        let (token, rest) = self.text.split_at(end);
        self.text = rest;
        token
    }

    /// Reads a quoted string. A backslash makes the next character literal; a missing end quote ends with the field.
    fn quoted(&mut self) -> String {
        let mut value = String::new();
        let mut characters = self.text.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.text = &self.text[at + 1..];
                    return value;
                }
                '\\' => value.extend(characters.next().map(|(_, literal)| literal)),
                character => value.push(character),
            }
        }
        self.text = "";
        value
    }

    /// Skips blanks; a folded line is a blank.
    fn skip_blanks(&mut self) {
        self.text = self.text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    }

    fn advance(&mut self, characters: usize) {
        let mut rest = self.text.chars();
        for _ in 0..characters {
            rest.next();
        }
        self.text = rest.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::{Relation, Uri, from_link_header, parse_link_header};

    fn page() -> Uri {
        "http://example.com/a/page".parse().unwrap()
    }

    #[test]
    fn disc_4_capability_lists_are_found_however_the_field_is_written() {
        for field in [
            "<http://example.com/caps.xml>; rel=\"resourcesync\"",
            "<http://example.com/caps.xml>;rel=resourcesync",
            "</caps.xml>;\r\n      rel=\"resourcesync\"",
            "<../caps.xml> ; REL = \"ResourceSync up\"",
            "<x>; rel=next, <http://example.com/caps.xml>; title=\"a, b; <c>\"; rel=resourcesync",
            "<http://example.com/caps.xml>; rel=\"resourcesync\"; rel=\"next\"",
            "<x>; rel=next; title=\"\\\"q\", ,, <http://example.com/caps.xml>; ; rel=resourcesync; flag",
            "<http://example.com/caps.xml>; anchor=\"\"; rel=resourcesync",
        ] {
            let found = from_link_header(field, &page());
            assert_eq!(
                found.iter().map(Uri::as_str).collect::<Vec<_>>(),
                ["http://example.com/caps.xml"],
                "{field}"
            );
        }
    }

    #[test]
    fn links_of_other_relations_or_about_other_things_are_not_taken() {
        for field in [
            "",
            "<http://example.com/caps.xml>",
            "<http://example.com/caps.xml>; rel=next; rel=resourcesync",
            "<http://example.com/caps.xml>; rel=resourcesync; anchor=\"/other\"",
            "http://example.com/caps.xml; rel=resourcesync",
            "<http://exa mple.com/caps.xml>; rel=resourcesync",
            "<x>; title=\"<y>; rel=resourcesync\"",
        ] {
            assert!(from_link_header(field, &page()).is_empty(), "{field}");
        }
    }

    #[test]
    fn o541_a_target_that_is_no_uri_costs_no_other_link() {
        let field =
            format!("<http://example.com/{}>; rel=x, </caps.xml>; rel=resourcesync", "\u{e4}".repeat(40));
        let found = from_link_header(&field, &page());
        assert_eq!(found.iter().map(Uri::as_str).collect::<Vec<_>>(), ["http://example.com/caps.xml"]);
    }

    #[test]
    fn hub_and_topic_of_a_channel_are_found() {
        let links = parse_link_header("<t>;rel=self, <http://hub.example/>;rel=hub", &page());
        assert_eq!(links[0].rels, [Relation::Itself]);
        assert!(links[1].is(&Relation::Hub, &page()));
    }
}
