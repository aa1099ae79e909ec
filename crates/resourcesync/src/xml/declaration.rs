//! The XML declaration, and the names of processing instructions (XML 1.0 §2.6, §2.8). Documents are read without either;
//! other XML readers refuse what is not well-formed here.

const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// Returns `true` for a well-formed XML declaration: a version, then perhaps an encoding and `standalone`.
pub(super) fn is_declaration(text: &str) -> bool {
    let content = text.strip_prefix("<?xml").and_then(|text| text.strip_suffix("?>"));
    let Some((version, rest)) = content.and_then(|content| value_of("version", content)) else {
        return false;
    };
    let (encoding, rest) = value_if("encoding", rest);
    let (standalone, rest) = value_if("standalone", rest);
    let minor = version.strip_prefix("1.").unwrap_or_default();
    !minor.is_empty()
        && minor.bytes().all(|byte| byte.is_ascii_digit())
        && encoding.is_none_or(is_encoding)
        && standalone.is_none_or(|value| matches!(value, "yes" | "no"))
        && rest.trim_start_matches(BLANK).is_empty()
}

/// Returns `true` for a processing instruction with a valid name.
pub(super) fn is_instruction(text: &str) -> bool {
    let content = text.strip_prefix("<?").and_then(|text| text.strip_suffix("?>")).unwrap_or_default();
    let name = content.split(BLANK).next().unwrap_or_default();
    let is_first = |first: char| first.is_alphabetic() || matches!(first, '_' | ':') || !first.is_ascii();
    let is_next = |next: char| next.is_ascii_alphanumeric() || "_:-.".contains(next) || !next.is_ascii();
    !name.eq_ignore_ascii_case("xml") && name.starts_with(is_first) && name.chars().all(is_next)
}

fn value_if<'t>(name: &str, text: &'t str) -> (Option<&'t str>, &'t str) {
    value_of(name, text).map_or((None, text), |(value, rest)| (Some(value), rest))
}

/// Returns the value at the front of a text, after white space and its name, and the text behind it.
fn value_of<'t>(name: &str, text: &'t str) -> Option<(&'t str, &'t str)> {
    let after = text.strip_prefix(BLANK)?.trim_start_matches(BLANK).strip_prefix(name)?;
    let value = after.trim_start_matches(BLANK).strip_prefix('=')?.trim_start_matches(BLANK);
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split_once(quote)
}

fn is_encoding(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c40_declarations_and_instructions_are_read_as_xml_defines_them() {
        for text in [
            "<?xml version=\"1.0\"?>",
            "<?xml version = '1.1' encoding='utf-8' standalone=\"yes\" ?>",
            "<?xml\n version=\"1.0\"\tstandalone='no'?>",
        ] {
            assert!(is_declaration(text), "{text}");
        }
        for text in [
            "<?xml?>",
            "<?xml version=1.0?>",
            "<?xml version=\"1.0?>",
            "<?xml version=\"2.0\"?>",
            "<?xml version=\"1.\"?>",
            "<?xml encoding=\"UTF-8\"?>",
            "<?xml version=\"1.0\"encoding=\"UTF-8\"?>",
            "<?xml version=\"1.0\" encoding\"UTF-8\"?>",
            "<?xml version=\"1.0\" encoding=\"\"?>",
            "<?xml version=\"1.0\" enco=\"UTF-8\"?>",
            "<?xml version=\"1.0\" standalone=\"no\" encoding=\"UTF-8\"?>",
            "<?xml version=\"1.0\" standalone=\"maybe\"?>",
        ] {
            assert!(!is_declaration(text), "{text}");
        }
        for text in ["<?xml-stylesheet href='a'?>", "<?php?>", "<?a:b c?>", "<?\u{e4}?>"] {
            assert!(is_instruction(text), "{text}");
        }
        for text in ["<? a?>", "<?x<?xml version='1.0'?>", "<?XML a?>", "<?1?>", "<?a\"b?>"] {
            assert!(!is_instruction(text), "{text}");
        }
    }
}
