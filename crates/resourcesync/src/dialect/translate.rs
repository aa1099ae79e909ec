//! The dialect of a document, recognized by its header, and its translation to 1.1.

use super::Dialect;
use crate::{
    document::{Entry, Header},
    value::{Capability, Relation},
};

impl Dialect {
    /// Recognizes the dialect of a header. `draft_namespace` is `true` if its extensions are in
    /// `http://www.openarchives.org/rs/`.
    pub(crate) fn of(header: &Header, draft_namespace: bool) -> Self {
        let Some(md) = &header.metadata else { return Self::PlainSitemap };
        let linked = |name: &str| header.links.iter().any(|link| link.rel.as_str() == name);
        let called =
            |name: &str| md.capability.as_ref().is_some_and(|capability| capability.as_str() == name);
        if draft_namespace || called("resource-list") || linked("top") {
            Self::January2013
        } else if md.modified.is_some() && md.at.is_none() && md.from.is_none() {
            Self::V0_5
        } else if called("resourcesync")
            || linked("resourcesync")
            || (is_snapshot(md.capability.as_ref()) && md.from.is_some() && md.at.is_none())
        {
            Self::V0_9
        } else {
            Self::Current
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::PlainSitemap => "DIA-7",
            Self::January2013 | Self::V0_5 => "DIA-2",
            Self::V0_9 | Self::Current => "DIA-3",
        }
    }

    /// Translates a header of this dialect to 1.1. Each step goes to `report` with its rule.
    pub(crate) fn translate(self, header: &mut Header, report: &mut dyn FnMut(&'static str, &str, &str)) {
        let rule = self.rule();
        match self {
            Self::Current => return,
            Self::PlainSitemap => {
                // Notifications of the draft 0.8 have no root metadata either (N8-5).
                if header.link_for(&Relation::Up).is_none() {
                    report(
                        rule,
                        "a plain Sitemap",
                        "rs:md under the root; read as a Resource List without at",
                    );
                }
                return;
            }
            Self::January2013 | Self::V0_5 | Self::V0_9 => {}
        }
        let Some(md) = &mut header.metadata else { return };
        if let Some(current) = current_capability(md.capability.as_ref()) {
            report(rule, "a capability of a draft", current.as_str());
            md.capability = Some(current);
        }
        if is_snapshot(md.capability.as_ref()) && md.at.is_none() {
            if let Some(modified) = md.modified.take() {
                report(rule, "modified on the root", "at");
                md.at = Some(modified);
            } else if let Some(from) = md.from.take() {
                report(rule, "from on a snapshot", "at");
                (md.at, md.completed) = (Some(from), md.completed.or(md.until.take()));
            }
        }
        translate_links(header, rule, report);
    }

    /// Translates an entry of this dialect to 1.1.
    pub(crate) fn translate_entry(entry: &mut Entry) {
        if let Some(current) = current_capability(entry.metadata.capability.as_ref()) {
            entry.metadata.capability = Some(current);
        }
    }
}

/// Translates links: up to 0.9, `resourcesync` (`top` at first) led up and `up` led to the index.
fn translate_links(
    header: &mut Header,
    rule: &'static str,
    report: &mut dyn FnMut(&'static str, &str, &str),
) {
    let upwards = |rel: &Relation| *rel == Relation::ResourceSync || rel.as_str() == "top";
    if !header.links.iter().any(|link| upwards(&link.rel)) {
        return;
    }
    for link in &mut header.links {
        let current = match &link.rel {
            Relation::Up => Relation::Index,
            rel if upwards(rel) => Relation::Up,
            _ => continue,
        };
        report(rule, &format!("rel=\"{}\"", link.rel), &format!("rel=\"{current}\""));
        link.rel = current;
    }
}

fn current_capability(found: Option<&Capability>) -> Option<Capability> {
    match found?.as_str() {
        "resource-list" => Some(Capability::ResourceList),
        "resourcesync" => Some(Capability::Description),
        _ => None,
    }
}

fn is_snapshot(capability: Option<&Capability>) -> bool {
    matches!(
        capability,
        Some(Capability::ResourceList | Capability::ResourceDump | Capability::ResourceDumpManifest)
    )
}
