//! Writes the parts that all documents have: paths, times, root metadata and links.

use super::{Attributes, Writer, roll};
use crate::{
    source::Segment,
    style::{Dialect, Written},
    times::{written, written_in_a_zone},
};

const SITEMAPS: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

impl Writer<'_> {
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.set.folder)
    }

    pub(super) fn url(&self, name: &str) -> String {
        format!("{}{}{name}", self.base, self.set.folder)
    }

    /// Returns `true` if an attribute is written. For the same `key` the answer is the same.
    pub(super) fn writes(&self, written: Written, key: &str) -> bool {
        match written {
            Written::Always => true,
            Written::Never => false,
            Written::Sometimes => roll(self.seed, key).is_multiple_of(2),
        }
    }

    /// Returns a time as this Source writes it: by its clock, in its precision and zone.
    pub(super) fn time(&self, time: i64) -> String {
        let stated = self.clock.stated(time);
        let text = written(stated, self.style.precision);
        if self.oddities.zones {
            written_in_a_zone(stated, self.style.precision, roll(self.seed, &text))
        } else {
            text
        }
    }

    /// Adds an attribute with a time to a list, if this Source writes it.
    pub(super) fn timed(
        &self,
        list: &mut Attributes,
        (name, how): (&'static str, Written),
        key: &str,
        time: i64,
    ) {
        if self.writes(how, &format!("{key} {name}")) {
            list.push((name, self.time(time)));
        }
    }

    /// Returns a whole document: root metadata, links, entries.
    pub(super) fn document(
        &self,
        index: bool,
        md: &[(&str, String)],
        links: &[(&str, String)],
        entries: &str,
    ) -> Vec<u8> {
        let root = if index { "sitemapindex" } else { "urlset" };
        let p = self.style.prefix;
        let namespace = match self.style.dialect {
            Dialect::DLib => "http://www.openarchives.org/rs/",
            _ => "http://www.openarchives.org/rs/terms/",
        };
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"{SITEMAPS}\" xmlns:{p}=\"{namespace}\">\n"
        );
        for (rel, href) in links {
            text += &format!("<{p}:ln rel=\"{rel}\" href=\"{href}\"/>\n");
        }
        if self.style.dialect != Dialect::Sitemap {
            text += &format!("<{p}:md{}/>\n", attributes(md));
        }
        text += entries;
        text += &format!("</{root}>\n");
        text.into_bytes()
    }

    pub(super) fn links(&self, key: &str, index: Option<&str>) -> Vec<(&'static str, String)> {
        let (up, to_index) = match self.style.dialect {
            Dialect::V0_9 => ("resourcesync", "up"),
            Dialect::DLib => ("top", "up"),
            _ => ("up", "index"),
        };
        let mut links = Vec::new();
        if self.writes(self.style.up, &format!("{key} up")) {
            links.push((up, self.url("capabilitylist.xml")));
        }
        if let Some(index) = index.filter(|_| self.writes(self.style.index, &format!("{key} index"))) {
            links.push((to_index, self.url(index)));
        }
        links
    }

    /// Returns the root metadata of an inventory.
    pub(super) fn snapshot(&self, capability: &str, key: &str, at: i64) -> Attributes {
        let capability = match self.style.dialect {
            Dialect::DLib if capability == "resourcelist" => "resource-list",
            _ => capability,
        };
        let mut md = vec![("capability", capability.to_owned())];
        let (at_name, completed) = match self.style.dialect {
            Dialect::V0_9 => ("from", "until"),
            Dialect::V0_5 | Dialect::DLib => ("modified", ""),
            _ => ("at", "completed"),
        };
        self.timed(&mut md, (at_name, self.style.at), key, at);
        if !completed.is_empty() && md.len() > 1 {
            self.timed(&mut md, (completed, self.style.completed), key, at);
        }
        md
    }

    /// Returns the root metadata of a list of changes.
    pub(super) fn interval(&self, capability: &str, key: &str, segment: &Segment) -> Attributes {
        let mut md = vec![("capability", capability.to_owned())];
        if matches!(self.style.dialect, Dialect::V0_5 | Dialect::DLib) {
            md.push(("modified", self.time(self.set.published)));
            return md;
        }
        self.timed(&mut md, ("from", self.style.from), key, segment.from);
        match (self.style.dialect, segment.until) {
            (Dialect::V0_9, _) => {
                self.timed(
                    &mut md,
                    ("until", self.style.until),
                    key,
                    segment.until.unwrap_or(self.set.published),
                );
            }
            (_, Some(until)) => self.timed(&mut md, ("until", self.style.until), key, until),
            (_, None) => {}
        }
        md
    }
}

pub(super) fn attributes(list: &[(&str, String)]) -> String {
    list.iter().map(|(name, value)| format!(" {name}=\"{value}\"")).collect()
}
