//! Adds the elements of a Resource List (§10.1) to the text of a Sitemap, and removes those of an earlier run. The text
//! is not parsed and written again, so that everything else stays as it is.

use anyhow::Context;

/// The marks around the added elements, by which the next run finds them.
const BEGIN: &str = "<!--instep-->";
const END: &str = "<!--/instep-->";

/// The namespace of ResourceSync.
const TERMS: &str = "http://www.openarchives.org/rs/terms/";

/// The text that turns a Sitemap into a Resource List.
pub(super) struct Addition<'a> {
    /// The URI of the Capability List.
    pub(super) up: &'a str,
    /// The URI of the index that the list is a part of; `None` if it is not a part.
    pub(super) index: Option<&'a str>,
    /// The time of the list.
    pub(super) at: &'a str,
}

/// Returns `true` if an earlier run has added elements.
pub(super) fn is_amended(text: &[u8]) -> bool {
    find(text, BEGIN).is_some()
}

/// Returns a Sitemap with an addition in place of the former one. Everything else stays as it is.
///
/// Errors: the text has no root element, or the former addition has no end.
pub(super) fn amended(text: &[u8], addition: &Addition<'_>) -> anyhow::Result<Vec<u8>> {
    let text = without_addition(text)?;
    let (start, end) = root(&text).context("no root element; a Sitemap in UTF-8 is expected")?;
    let tag = std::str::from_utf8(&text[start..end]).context("the root element is not UTF-8")?;
    // A list without entries may be an empty element, which is opened for the addition.
    let (is_closed, open_tag) = (tag.ends_with('/'), tag.trim_end_matches('/'));
    let (prefix, is_declared) = prefix(tag);
    let mut amended = Vec::with_capacity(text.len() + 400);
    amended.extend_from_slice(&text[..start + open_tag.len()]);
    if !is_declared {
        amended.extend_from_slice(format!(" xmlns:{prefix}=\"{TERMS}\"").as_bytes());
    }
    let link = |rel: &str, href: &str| format!("<{prefix}:ln rel=\"{rel}\" href=\"{}\"/>", escaped(href));
    let index = addition.index.map(|index| link("index", index)).unwrap_or_default();
    let (up, at) = (link("up", addition.up), addition.at);
    let added = format!(">{BEGIN}{up}{index}<{prefix}:md capability=\"resourcelist\" at=\"{at}\"/>{END}");
    amended.extend_from_slice(added.as_bytes());
    if is_closed {
        let name = open_tag[1..].split_ascii_whitespace().next().unwrap_or_default();
        amended.extend_from_slice(format!("</{name}>").as_bytes());
    }
    amended.extend_from_slice(&text[end + 1..]);
    Ok(amended)
}

fn without_addition(text: &[u8]) -> anyhow::Result<Vec<u8>> {
    let Some(begin) = find(text, BEGIN) else { return Ok(text.to_vec()) };
    let end = find(&text[begin..], END).context("the end of the former addition is missing")?;
    Ok([&text[..begin], &text[begin + end + END.len()..]].concat())
}

/// Returns the beginning of the root's tag, and the position of its `>`.
fn root(text: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    loop {
        at += text[at..].iter().position(|byte| *byte == b'<')?;
        let rest = &text[at..];
        let skipped = match rest.get(1)? {
            b'?' => find(rest, "?>")? + 2,
            b'!' if rest.starts_with(b"<!--") => find(rest, "-->")? + 3,
            b'!' => return None,
            _ => break,
        };
        at += skipped;
    }
    let mut quote = None;
    for (place, byte) in text.iter().enumerate().skip(at) {
        match (quote, byte) {
            (None, b'>') => return Some((at, place)),
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns a prefix for the namespace, and `true` if the tag already declares it. If not, the prefix is a free one.
fn prefix(tag: &str) -> (&str, bool) {
    let declared: Vec<(&str, &str)> = tag.split("xmlns:").skip(1).filter_map(declaration).collect();
    if let Some((own, _)) = declared.iter().find(|(_, namespace)| *namespace == TERMS) {
        return (own, true);
    }
    let is_free = |prefix: &&str| declared.iter().all(|(name, _)| name != prefix);
    (["rs", "resourcesync", "instep"].into_iter().find(is_free).unwrap_or("instep-rs"), false)
}

/// Returns the prefix and the namespace of a declaration, whose text begins after `xmlns:`. XML allows blanks around
/// `=`.
fn declaration(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let value = value.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    Some((name.trim_end(), value[1..].split(quote).next()?))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn find(text: &[u8], what: &str) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "\u{feff}<?xml version=\"1.0\"?>\n<!-- a > b -->\n<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'\n  \
                         xmlns:x=\"urn:x>y\">\n  <url><loc>http://e.org/</loc><x:y/></url>\n</urlset>\n";

    fn add(text: &str, at: &str) -> String {
        let addition = Addition { up: "http://e.org/caps.xml?a&b", index: None, at };
        String::from_utf8(amended(text.as_bytes(), &addition).unwrap()).unwrap()
    }

    #[test]
    fn an_addition_changes_nothing_else_and_replaces_the_former_one() {
        let first = add(PLAIN, "2026-01-01T00:00:00Z");
        assert!(is_amended(first.as_bytes()) && !is_amended(PLAIN.as_bytes()));
        let declared = PLAIN.replace("urn:x>y\">", &format!("urn:x>y\" xmlns:rs=\"{TERMS}\">"));
        assert_eq!(String::from_utf8(without_addition(first.as_bytes()).unwrap()).unwrap(), declared);
        assert_eq!(add(&first, "2026-01-01T00:00:00Z"), first);
        let second = add(&first, "2026-01-02T00:00:00Z");
        assert_eq!(second.matches(BEGIN).count(), 1);
        assert!(second.contains("at=\"2026-01-02T00:00:00Z\"") && second.contains("caps.xml?a&amp;b"));
    }

    #[test]
    fn a_prefix_with_another_meaning_is_not_used() {
        let taken = PLAIN.replace("xmlns:x=\"urn:x>y\"", "xmlns:rs=\"urn:other\"");
        assert!(add(&taken, "2026").contains("<resourcesync:md "));
        let own = PLAIN.replace("xmlns:x=\"urn:x>y\"", &format!("xmlns:r=\"{TERMS}\""));
        assert!(add(&own, "2026").contains("<r:md "));
    }

    #[test]
    fn o240_a_declaration_with_blanks_is_one_and_no_prefix_is_declared_twice() {
        for declared in ["xmlns:rs = \"TERMS\"", "xmlns:rs\n= 'TERMS'", "xmlns:rs='TERMS'"] {
            let own = PLAIN.replace("xmlns:x=\"urn:x>y\"", &declared.replace("TERMS", TERMS));
            let amended = add(&own, "2026");
            assert!(amended.contains("<rs:md ") && amended.matches("xmlns:rs").count() == 1, "{amended}");
        }
        let both = "xmlns:rs = 'urn:other' xmlns:resourcesync='http://www.openarchives.org/rs/terms/old'";
        assert!(add(&PLAIN.replace("xmlns:x=\"urn:x>y\"", both), "2026").contains("<instep:md "));
    }

    #[test]
    fn o242_an_empty_root_element_is_opened() {
        let empty = "<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9' />\n";
        let amended = add(empty, "2026");
        assert!(amended.starts_with("<s:urlset xmlns:s=") && amended.ends_with("</s:urlset>\n"), "{amended}");
        assert_eq!(add(&amended, "2026"), amended);
    }

    #[test]
    fn a_text_without_a_root_element_is_refused() {
        let addition = Addition { up: "u", index: None, at: "2026" };
        for wrong in ["", "text", "<?xml?>", "<!DOCTYPE html><html>", "<urlset a='>"] {
            assert!(amended(wrong.as_bytes(), &addition).is_err(), "{wrong}");
        }
    }
}
