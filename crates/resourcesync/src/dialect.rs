//! Documents of older versions, read as 1.1. No document names its version, so data show the dialect (DIA-1).

use std::fmt;

use crate::{
    document::{Entry, Form, Header},
    value::{Capability, Relation},
};

/// The version of the standard that a document follows, as far as its data show (DIA-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// A Sitemap without any `rs:md`: a Resource List without `at` (DIA-7).
    PlainSitemap,
    /// The D-Lib paper and the draft of January 2013 (DIA-2).
    January2013,
    /// The drafts 0.5 and 0.6: `modified` on the root (DIA-2).
    V0_5,
    /// The draft 0.9: `from` everywhere, `rel="resourcesync"` upwards (DIA-3).
    V0_9,
    /// 0.9.1, 1.0 and 1.1.
    #[default]
    Current,
}

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

    /// Returns `true` if `until` means that the document never changes again (DIA-2, DIA-3).
    pub fn until_closes(self) -> bool {
        self == Self::Current
    }

    /// Returns `true` if changes are listed newest first (DIA-5).
    pub fn lists_newest_first(self) -> bool {
        self == Self::January2013
    }

    /// Returns `true` if members of an index and packages of a dump are listed oldest first; if not, their own times
    /// order them (DIA-5).
    pub fn orders_members(self) -> bool {
        self == Self::Current
    }

    /// Returns `true` if the manifest of a Change Dump may name one path twice; only the last bitstream can be verified
    /// then (CDM-10).
    pub fn repeats_paths(self) -> bool {
        self == Self::January2013
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

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PlainSitemap => "plain Sitemap",
            Self::January2013 => "draft of January 2013",
            Self::V0_5 => "draft 0.5 or 0.6",
            Self::V0_9 => "draft 0.9",
            Self::Current => "1.0 or 1.1",
        })
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

impl Header {
    /// Returns `true` if the entries are Capability Lists: in a Source Description, and in the Capability List Index that
    /// drafts had in its place (DIA-2).
    pub fn lists_capability_lists(&self) -> bool {
        match self.capability() {
            Some(Capability::Description) => self.form == Form::List,
            Some(Capability::CapabilityList) => self.form == Form::Index,
            _ => false,
        }
    }

    /// Returns `true` if an entry is a member of an index: always below a `sitemapindex`; below a `urlset` if it states
    /// the document's own capability, as indexes published with the wrong root do.
    pub fn is_member(&self, entry: &Entry) -> bool {
        self.form == Form::Index
            || (entry.metadata.capability.is_some()
                && entry.metadata.capability.as_ref() == self.capability())
    }
}
