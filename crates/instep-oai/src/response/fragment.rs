//! An element of a response that becomes a separate document.

use quick_xml::events::BytesStart;

use super::namespaces::{InScope, declared};
use crate::well_formed::{check_all_resolved_names, check_tag, may_repeat_names};

/// The most attributes of one tag, and the most prefixes of one fragment: each may have to be compared with all others.
const MOST_NAMES: usize = 1_000;
/// The most bytes of the declarations that an element needs from around it. The response has them once, and each of its
/// records gets a copy.
const MOST_DECLARED: usize = 64 << 10;

/// The prefixes that an element and its content use, and those that they declare.
#[derive(Debug, Default)]
pub(crate) struct Fragment {
    used: Vec<String>,
    /// The prefixes declared on the element itself.
    on_root: Vec<String>,
    /// The prefixes declared further down.
    below: Vec<String>,
    /// Attributes of one tag may have the same name once their prefixes are resolved.
    may_repeat_names: bool,
    /// For each open element: `true` if it, or one around it, declares a default namespace.
    defaults: Vec<bool>,
}

impl Fragment {
    /// Takes a start tag.
    ///
    /// # Errors
    /// A sentence, if the tag is not well-formed.
    pub(crate) fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        if tag.attributes().with_checks(false).nth(MOST_NAMES).is_some() {
            return Err(format!("a tag has more than {MOST_NAMES} attributes"));
        }
        check_tag(tag)?;
        self.may_repeat_names |= may_repeat_names(tag);
        let text: &str = tag;
        let has_attributes = text.len() > tag.name().as_ref().len();
        let own = if text.contains("xmlns") { declared(tag) } else { Vec::new() };
        let is_root = self.defaults.is_empty();
        let has_default =
            self.defaults.last().copied().unwrap_or(false) || own.iter().any(|(prefix, _)| prefix.is_empty());
        for (prefix, _) in own {
            if is_root { self.on_root.push(prefix) } else { self.below.push(prefix) }
        }
        match tag.name().as_ref().split_once(':') {
            Some((prefix, _)) => self.uses(prefix),
            None if !has_default => self.uses(""),
            None => {}
        }
        if has_attributes {
            for attribute in tag.attributes() {
                let attribute = attribute.map_err(|error| error.to_string())?;
                let key: &str = attribute.key.as_ref();
                if let Some((prefix, _)) = key.split_once(':')
                    && !matches!(prefix, "xmlns" | "xml")
                {
                    self.uses(prefix);
                }
            }
        }
        if self.used.len() > MOST_NAMES {
            return Err(format!("it uses more than {MOST_NAMES} prefixes"));
        }
        self.defaults.push(has_default);
        Ok(())
    }

    /// Takes an end tag.
    pub(crate) fn close(&mut self) {
        self.defaults.pop();
    }

    fn uses(&mut self, prefix: &str) {
        if !self.used.iter().any(|used| used == prefix) {
            self.used.push(prefix.to_owned());
        }
    }

    /// Returns the declarations that the element needs from around it.
    ///
    /// # Errors
    /// A sentence, if a prefix is declared nowhere, or the declarations are too long.
    fn missing(&self, scope: &InScope) -> Result<String, String> {
        let mut attributes = String::new();
        for prefix in self.used.iter().filter(|prefix| !self.on_root.contains(prefix)) {
            match scope.attribute(prefix) {
                Some(attribute) => attributes.push_str(&attribute),
                // Without a default namespace around it, an element without a prefix is in none.
                None if prefix.is_empty() || self.below.contains(prefix) => {}
                None => return Err(format!("the prefix {prefix} is declared nowhere")),
            }
            if attributes.len() > MOST_DECLARED {
                let most = MOST_DECLARED >> 10;
                return Err(format!("the declarations of its namespaces have more than {most} KiB"));
            }
        }
        Ok(attributes)
    }

    /// Appends an element, as written, in a form that can stand alone.
    ///
    /// # Errors
    /// A sentence, if a prefix is declared nowhere, the declarations are too long, or an attribute occurs twice.
    pub(crate) fn append(&self, element: &str, scope: &InScope, to: &mut Vec<u8>) -> Result<(), String> {
        let missing = self.missing(scope)?;
        let name = element[1..].find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/');
        let name_end = name.map_or(element.len(), |end| end + 1);
        to.reserve(element.len() + missing.len() + 1);
        to.extend_from_slice(&element.as_bytes()[..name_end]);
        to.extend_from_slice(missing.as_bytes());
        to.extend_from_slice(&element.as_bytes()[name_end..]);
        to.push(b'\n');
        if self.may_repeat_names {
            let (before, after) = element.split_at(name_end);
            check_all_resolved_names(&[before, &missing, after].concat())?;
        }
        Ok(())
    }
}
