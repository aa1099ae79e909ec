//! The tag of an element: the role that its name gives it, and its attributes.

use std::io::BufRead;

use super::{
    DocumentReader, Next,
    element::{Element, kind_of, stray_namespace},
    push,
};
use crate::{
    error::{ReadError, SyntaxErrorKind},
    finding::{Finding, Severity},
    xml::{
        attributes::Reading,
        name::is_qualified_name,
        names::{Namespace, RS, SITEMAP, is_draft},
        prefixes::prefix_fault,
        tag::Tag,
    },
};

/// Names of elements that are remembered.
const NAMES: usize = 8;

impl<R: BufRead> DocumentReader<R> {
    /// Opens an element: declares its namespaces, finds its role, and reads its attributes.
    pub(super) fn element(&mut self, tag: &Tag<'_>, depth: usize, empty: bool) -> Result<Element, ReadError> {
        if !empty {
            self.open.push(tag.name());
        }
        let declares = tag.has_attributes() && self.scope.enter(tag, depth + 1);
        if declares {
            self.elements.clear();
        }
        let kind = self.kind(tag.name(), depth)?;
        match kind {
            Element::Md | Element::Ln => self.read_attributes(tag, kind)?,
            _ if tag.has_attributes() => self.other_attributes(tag, kind)?,
            _ => {}
        }
        if let Some(found) = tag.attribute_fault().or_else(|| prefix_fault(tag, &self.scope)) {
            self.report("GEN-24", Severity::Error, found, "attributes as XML has them");
        }
        if empty && declares {
            self.scope.leave(depth + 1);
            self.elements.clear();
        }
        Ok(kind)
    }

    /// Returns the role of an element, by its name in the scope.
    fn kind(&mut self, name: &str, depth: usize) -> Result<Element, ReadError> {
        if depth > 0
            && let Some((_, kind)) = self.elements.iter().find(|(known, _)| **known == *name)
        {
            return Ok(*kind);
        }
        let (namespace, local) = self.scope.element(name);
        let kind = kind_of(&namespace, local, depth);
        if depth == 0 && self.next != Next::End {
            self.require_root(kind, &namespace, local)?;
        }
        let stray = stray_namespace(kind, &namespace, (name, local));
        let is_unknown = matches!(kind, Element::Foreign | Element::StrayEntry) && namespace.is_rs();
        let variant = match &*namespace {
            Namespace::RsVariant(uri) => Some(uri.clone()),
            _ => None,
        };
        // Reported at the root only, because all elements of the document have the namespace.
        let found = match &*namespace {
            Namespace::SitemapVariant(uri) if depth == 0 => Some(format!("the namespace {uri}")),
            _ => None,
        };
        drop(namespace);
        let is_named = self.check_name(name, kind);
        if is_unknown {
            let found = format!("the element {name}, which ResourceSync does not have");
            self.report("GEN-2", Severity::Warning, found, "md or ln");
        }
        if let Some(found) = stray {
            self.report("GEN-2", Severity::Error, found, RS);
        }
        if let Some(found) = found {
            self.report("GEN-1", Severity::Error, found, SITEMAP);
        }
        match variant {
            Some(uri) if depth <= 2 && matches!(kind, Element::Md | Element::Ln) => {
                self.draft_namespace |= depth == 1 && is_draft(&uri);
                self.report("GEN-2", Severity::Error, format!("the namespace {uri}"), RS);
            }
            // Caches a name only if it produced no finding: a finding must be reported for each occurrence.
            None if depth > 0
                && is_named
                && !matches!(kind, Element::Foreign | Element::StrayEntry | Element::OtherSitemap)
                && self.elements.len() < NAMES =>
            {
                self.elements.push((name.into(), kind));
            }
            _ => {}
        }
        Ok(kind)
    }

    /// Reports a name that no element can have, and a prefix that nothing declares. Returns `true` if an element can have
    /// the name.
    fn check_name(&mut self, name: &str, kind: Element) -> bool {
        let is_named = is_qualified_name(name);
        if !is_named {
            let found =
                format!("{:?}, which cannot name an element", name.chars().take(40).collect::<String>());
            self.report("GEN-24", Severity::Error, found, "a name as XML has them");
        }
        if kind == Element::Foreign && !self.scope.declares(name) {
            let found = format!("the prefix of {name}, which is not declared");
            self.report("GEN-24", Severity::Error, found, "a declaration of each prefix");
        }
        is_named
    }

    fn read_attributes(&mut self, tag: &Tag<'_>, kind: Element) -> Result<(), ReadError> {
        let Self { attributes, scope, options, findings, findings_dropped, at, .. } = self;
        let reading = Reading {
            most: options.limits.attributes,
            on_link: kind == Element::Ln,
            prefixed: options.dialects,
        };
        attributes
            .read(tag, scope, reading, &mut |rule, severity, found, expected| {
                push(findings, findings_dropped, options, Finding::new(rule, severity, *at, found, expected));
            })
            .map_err(|kind| self.syntax(kind))
    }

    /// Checks the attributes of elements that have none in the standard (GEN-22) or in the Sitemap schema (GEN-23), which
    /// leaves room for others' with a prefix, such as `xsi:schemaLocation`. They must be XML all the same.
    fn other_attributes(&mut self, tag: &Tag<'_>, kind: Element) -> Result<(), ReadError> {
        let (mut stray, mut undeclared) = (None, None);
        let is_entry = matches!(kind, Element::Entry(_));
        tag.for_each_attribute(self.options.limits.attributes, |key, _| {
            let declares = key == "xmlns" || key.starts_with("xmlns:");
            if !declares && (is_entry || kind.is_of_sitemap() && !key.contains(':')) {
                stray.get_or_insert_with(|| key.to_owned());
            }
            if !declares && !self.scope.declares(key) {
                undeclared.get_or_insert_with(|| key.to_owned());
            }
        })
        .map_err(|kind| self.syntax(kind))?;
        if let Some(key) = undeclared {
            let found = format!("the prefix of {key}, which is not declared");
            self.report("GEN-24", Severity::Error, found, "a declaration of each prefix");
        }
        // Nothing is lost by one on an element of Sitemaps, and each entry may have it: the first of each is reported (O1004).
        let is_first = is_entry || !self.with_attributes.contains(&kind);
        if let Some(key) = stray.filter(|_| is_first) {
            self.with_attributes.extend((!is_entry).then_some(kind));
            let is_foreign = key.contains(':');
            let rule = if is_entry { "GEN-22" } else { "GEN-23" };
            let severity = if is_entry && !is_foreign { Severity::Error } else { Severity::Warning };
            let place = if is_entry { "an entry" } else { tag.name() };
            self.report(rule, severity, format!("the attribute {key} on {place}"), "none");
        }
        Ok(())
    }

    fn require_root(&self, kind: Element, namespace: &Namespace, local: &str) -> Result<(), ReadError> {
        if matches!(kind, Element::Root(_)) {
            return Ok(());
        }
        let rejected = match (namespace.uri(), local) {
            ("http://www.w3.org/2005/Atom", "feed") => Some("The Atom serialization"),
            (_, "resync") => Some("The resync serialization"),
            _ => None,
        };
        if let Some(name) = rejected {
            return Err(self.syntax(SyntaxErrorKind::RejectedSerialization(name)));
        }
        let hint = match local {
            "urlset" | "sitemapindex" => {
                "; its namespace must be http://www.sitemaps.org/schemas/sitemap/0.9"
            }
            "html" => "; this is a web page",
            _ => "",
        };
        let found = match namespace.uri() {
            "" => format!("{local} without a namespace"),
            uri => format!("{local} in {uri}"),
        };
        Err(self.syntax(SyntaxErrorKind::Root { found, hint }))
    }
}
