//! The names that XML gives elements and attributes (Namespaces in XML 1.0, §4).

/// Returns `true` for an XML name without a colon (Namespaces in XML, NCName).
pub(super) fn is_name(name: &str) -> bool {
    let starts = |c: char| {
        matches!(c,
            'A'..='Z' | 'a'..='z' | '_' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
            | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}'
            | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}'
            | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
    };
    let follows = |c: char| {
        starts(c)
            || matches!(c, '0'..='9' | '-' | '.' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
    };
    name.starts_with(starts) && name.chars().all(follows)
}

/// Returns `true` for an XML name with at most one prefix (QName).
pub(super) fn is_qualified_name(name: &str) -> bool {
    name.split_once(':').map_or_else(|| is_name(name), |(prefix, local)| is_name(prefix) && is_name(local))
}

#[cfg(test)]
mod tests {
    use super::is_qualified_name;

    #[test]
    fn a_name_has_at_most_one_prefix() {
        for name in ["a", "_a", "rs:md", "a-1.b", "\u{e4}:\u{e4}\u{b7}"] {
            assert!(is_qualified_name(name), "{name}");
        }
        for name in ["", "1", "-a", ":a", "a:", "a:b:c", "a:1", "a\"b", "a/b", "\u{d7}", "\u{b7}"] {
            assert!(!is_qualified_name(name), "{name}");
        }
    }
}
