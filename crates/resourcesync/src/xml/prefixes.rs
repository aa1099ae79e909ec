//! The rules about prefixes that every XML reader enforces (Namespaces in XML 1.0, §3 to §6.3).

use std::collections::BTreeSet;

use super::{
    names::{NamespaceScope, XML, split_prefix},
    tag::Tag,
};

/// The namespace of declarations.
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// Returns the first fault of the prefixes in a tag whose declarations are in force: a declaration that is not allowed, or
/// an attribute that is there twice by two prefixes.
pub(super) fn prefix_fault(tag: &Tag<'_>, scope: &NamespaceScope) -> Option<String> {
    if !tag.may_have_prefixes() {
        return None;
    }
    let (mut fault, mut names) = (None, BTreeSet::new());
    let look = |key: &str, value: &str| {
        let found = match split_prefix(key) {
            None if key == "xmlns" => declaration_fault("", value),
            None => None,
            Some(("xmlns", prefix)) => declaration_fault(prefix, value),
            Some((prefix, local)) => {
                let namespace = scope.resolve(prefix).map(|namespace| namespace.uri().to_owned());
                let is_twice = namespace.is_some_and(|uri| !names.insert((uri, local.to_owned())));
                is_twice.then(|| format!("the attribute {key}, which another prefix has too"))
            }
        };
        if fault.is_none() {
            fault = found;
        }
    };
    // A value that cannot be read was reported when the attributes were read.
    tag.for_each_attribute(usize::MAX, look).ok()?;
    fault
}

fn declaration_fault(prefix: &str, uri: &str) -> Option<String> {
    let is_right = match prefix {
        "xmlns" => false,
        "xml" => uri == XML,
        "" => uri != XML && uri != XMLNS,
        _ => !uri.is_empty() && uri != XML && uri != XMLNS,
    };
    let colon = if prefix.is_empty() { "" } else { ":" };
    (!is_right).then(|| format!("xmlns{colon}{prefix}=\"{uri}\", which declares what it must not"))
}
