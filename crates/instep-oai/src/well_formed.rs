//! The rules of XML 1.0 and of its namespaces that the tokenizer does not check. PURE.
//!
//! One record that breaks them makes a whole list of records unreadable for each harvester.

use quick_xml::{
    NsReader,
    escape::{resolve_predefined_entity, unescape},
    events::{BytesRef, BytesStart, Event},
    name::ResolveResult,
};

/// The namespaces that belong to XML itself.
const XML: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// Returns `true` for a character of XML 1.0.
pub(crate) fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Checks the names of a tag, the blanks between its attributes, their values, and its declarations of namespaces.
///
/// # Errors
/// A sentence about the first fault.
pub(crate) fn check_tag(tag: &BytesStart<'_>) -> Result<(), String> {
    let text: &str = tag;
    let (name, mut rest) = text.split_at(tag.name().as_ref().len());
    if !is_qualified_name(name) {
        return Err(format!("{name:?} cannot name an element"));
    }
    loop {
        let attribute = rest.trim_ascii_start();
        if attribute.is_empty() {
            return Ok(());
        }
        if attribute.len() == rest.len() {
            return Err(format!("no blank is before the attribute {}", start_of(attribute)));
        }
        let malformed = || format!("the attribute {} is malformed", start_of(attribute));
        let (name, value) = attribute.split_once('=').ok_or_else(malformed)?;
        let (name, value) = (name.trim_ascii_end(), value.trim_ascii_start());
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\'')).ok_or_else(malformed)?;
        let (value, after) = value[1..].split_once(quote).ok_or_else(malformed)?;
        if !is_qualified_name(name) {
            return Err(format!("{name:?} cannot name an attribute"));
        }
        check_value(value)?;
        check_declaration(name, value)?;
        rest = after;
    }
}

/// Checks the value of an attribute as it is written.
fn check_value(value: &str) -> Result<(), String> {
    if value.contains('<') {
        return Err("an attribute has a <".to_owned());
    }
    if !value.contains('&') {
        return Ok(());
    }
    match unescape(value) {
        Ok(value) if value.chars().all(is_allowed) => Ok(()),
        Ok(_) => Err("an attribute has a character that XML does not have".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks an attribute that declares a namespace.
fn check_declaration(name: &str, value: &str) -> Result<(), String> {
    let is_fine = match name.strip_prefix("xmlns").map(|rest| rest.strip_prefix(':').unwrap_or(rest)) {
        Some("") => !matches!(value, XML | XMLNS),
        Some("xmlns") => false,
        Some("xml") => value == XML,
        Some(_) if name.contains(':') => !matches!(value, "" | XML | XMLNS),
        _ => true,
    };
    if is_fine { Ok(()) } else { Err(format!("{name}={value:?} declares no namespace")) }
}

/// Checks what lies between two tags of one element.
///
/// # Errors
/// A sentence about a fault.
pub(crate) fn check_content(event: &Event<'_>) -> Result<(), String> {
    match event {
        Event::Text(text) if text.contains("]]>") => Err("]]> is in a text".to_owned()),
        Event::PI(instruction) => {
            let target = instruction.target();
            if is_name(target) && !target.eq_ignore_ascii_case("xml") {
                Ok(())
            } else {
                Err(format!("<?{target} is no processing instruction"))
            }
        }
        Event::Decl(_) => Err("an XML declaration is within an element".to_owned()),
        Event::DocType(_) => Err("it has a DOCTYPE".to_owned()),
        Event::GeneralRef(reference) => character(reference).map(drop),
        _ => Ok(()),
    }
}

/// Returns the text of a reference.
///
/// # Errors
/// A sentence, if it refers to nothing.
pub(crate) fn character(reference: &BytesRef<'_>) -> Result<String, String> {
    let name: &str = reference;
    if let Some(text) = resolve_predefined_entity(name) {
        return Ok(text.to_owned());
    }
    match reference.resolve_char_ref() {
        Ok(Some(character)) if is_allowed(character) => Ok(character.to_string()),
        Ok(None) => Err(format!("the entity {name} is declared nowhere")),
        _ => Err(format!("&{name}; is not a character of XML")),
    }
}

/// Returns `true` if attributes of a tag may have the same name once their prefixes are resolved.
pub(crate) fn may_repeat_names(tag: &BytesStart<'_>) -> bool {
    if tag.matches(':').count() < 2 {
        return false;
    }
    let mut attributes = tag.attributes();
    let mut locals = Vec::new();
    for attribute in attributes.with_checks(false).flatten() {
        let name = attribute.key.into_inner().split_once(':');
        locals.extend(name.filter(|(prefix, _)| *prefix != "xmlns").map(|(_, local)| local));
    }
    locals.sort_unstable();
    locals.windows(2).any(|pair| pair[0] == pair[1])
}

/// Checks that no two attributes of a tag have the same name in the same namespace.
///
/// # Errors
/// A sentence, if two have.
pub(crate) fn check_resolved_names(reader: &NsReader<&[u8]>, tag: &BytesStart<'_>) -> Result<(), String> {
    if !may_repeat_names(tag) {
        return Ok(());
    }
    let mut seen = Vec::new();
    for attribute in tag.attributes().with_checks(false).flatten() {
        let (ResolveResult::Bound(namespace), local) = reader.resolver().resolve_attribute(attribute.key)
        else {
            continue;
        };
        let name = (namespace.into_inner().to_owned(), local.into_inner().to_owned());
        if seen.contains(&name) {
            return Err(format!("the attribute {} of {} occurs twice", name.1, name.0));
        }
        seen.push(name);
    }
    Ok(())
}

/// Checks the attributes of a complete document.
///
/// # Errors
/// A sentence, if two of one tag have the same name in the same namespace.
pub(crate) fn check_all_resolved_names(document: &str) -> Result<(), String> {
    let mut reader = NsReader::from_str(document);
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(tag) | Event::Empty(tag) => check_resolved_names(&reader, &tag)?,
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn is_qualified_name(text: &str) -> bool {
    match text.split_once(':') {
        Some((prefix, local)) => is_name(prefix) && is_name(local),
        None => is_name(text),
    }
}

/// Returns `true` for a name without a colon.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(begins_name) && characters.all(|c| begins_name(c) || continues_name(c))
}

fn begins_name(c: char) -> bool {
    matches!(c, 'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}' | '\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn continues_name(c: char) -> bool {
    matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}')
}

fn start_of(text: &str) -> String {
    text.chars().take(40).collect()
}
