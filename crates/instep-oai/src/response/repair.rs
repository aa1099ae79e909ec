//! Characters that XML does not have, and references to nothing: the faults that repositories make most.

use std::borrow::Cow;

use crate::well_formed::is_allowed;

/// Returns a text in which each character that XML does not allow is U+FFFD, also if written as a reference. Each `&`
/// that begins no reference, or one to an entity that XML does not have, becomes `&amp;`.
pub(super) fn repaired(text: &str) -> Cow<'_, str> {
    if !text.contains('&') && text.chars().all(is_allowed) {
        return Cow::Borrowed(text);
    }
    let mut repaired = String::with_capacity(text.len() + 16);
    let mut rest = text;
    // In CDATA an ampersand is an ordinary character.
    while let Some(start) = rest.find("<![CDATA[") {
        let end = rest[start..].find("]]>").map_or(rest.len(), |end| start + end);
        repair_references(&rest[..start], &mut repaired);
        push_allowed(&rest[start..end], &mut repaired);
        rest = &rest[end..];
    }
    repair_references(rest, &mut repaired);
    Cow::Owned(repaired)
}

fn repair_references(text: &str, repaired: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        push_allowed(&rest[..at], repaired);
        rest = &rest[at..];
        let end = rest.bytes().skip(1).position(|byte| !byte.is_ascii_alphanumeric() && byte != b'#');
        let end = end.map_or(rest.len(), |end| end + 1);
        let name = &rest[1..end];
        let is_closed = rest[end..].starts_with(';');
        match reference(name) {
            Reference::Fine if is_closed => {
                repaired.push_str(&rest[..=end]);
                rest = &rest[end + 1..];
            }
            Reference::Forbidden if is_closed => {
                repaired.push('\u{fffd}');
                rest = &rest[end + 1..];
            }
            _ => {
                repaired.push_str("&amp;");
                rest = &rest[1..];
            }
        }
    }
    push_allowed(rest, repaired);
}

enum Reference {
    Fine,
    /// A reference to a character that XML does not have.
    Forbidden,
    Unknown,
}

fn reference(name: &str) -> Reference {
    let Some(number) = name.strip_prefix('#') else {
        return match quick_xml::escape::resolve_predefined_entity(name) {
            Some(_) => Reference::Fine,
            None => Reference::Unknown,
        };
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) if number.starts_with('x') => u32::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => number.parse().ok(),
    };
    match code {
        Some(code) if char::from_u32(code).is_some_and(is_allowed) => Reference::Fine,
        Some(_) => Reference::Forbidden,
        None => Reference::Unknown,
    }
}

fn push_allowed(text: &str, repaired: &mut String) {
    repaired.extend(text.chars().map(|character| if is_allowed(character) { character } else { '\u{fffd}' }));
}

#[cfg(test)]
mod tests {
    use super::repaired;

    #[test]
    fn only_what_xml_does_not_have_is_replaced() {
        for (text, expected) in [
            ("<a>fine &amp; &#233; &#xE9;</a>", "<a>fine &amp; &#233; &#xE9;</a>"),
            ("A & B &nbsp; &eacute;x &", "A &amp; B &amp;nbsp; &amp;eacute;x &amp;"),
            ("a\u{b}b&#11;c&#x0;", "a\u{fffd}b\u{fffd}c\u{fffd}"),
            ("<![CDATA[A & B\u{1}]]>&x", "<![CDATA[A & B\u{fffd}]]>&amp;x"),
            ("?a=1&copy=2", "?a=1&amp;copy=2"),
            ("&#99999999999;", "&amp;#99999999999;"),
        ] {
            assert_eq!(repaired(text), expected);
        }
    }
}
