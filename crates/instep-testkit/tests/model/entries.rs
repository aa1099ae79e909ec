//! Writes the entries of lists and manifests.

use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};

use super::{Attributes, Writer, body, heads::attributes, roll};
use crate::{
    source::{Event, Segment},
    style::{Dialect, Written},
};

impl Writer<'_> {
    /// Returns the metadata of a version in an entry: `lastmod` as an element, and attributes.
    pub(super) fn described(&self, event: &Event, key: &str) -> (String, Attributes) {
        let Some(version) = event.version else { return (String::new(), Vec::new()) };
        let bytes = body(self.style, self.seed, self.set, event.resource, version);
        let key = format!("{key} {} {}", event.resource, event.time);
        let lastmod = match self.writes(self.style.lastmod, &format!("{key} lastmod")) {
            true => format!("<lastmod>{}</lastmod>", self.time(self.modified(event))),
            false => String::new(),
        };
        let mut md = Vec::new();
        if self.writes(self.style.hash, &format!("{key} hash")) {
            let md5 = format!("md5:{}", HEXLOWER.encode(Md5::digest(&bytes).as_ref()));
            let sha = || {
                format!(
                    "sha-256:{}",
                    HEXLOWER.encode(ring::digest::digest(&ring::digest::SHA256, &bytes).as_ref())
                )
            };
            let hash = match roll(self.seed, &format!("{key} algorithm")) % 3 {
                0 => md5,
                1 => sha(),
                _ => format!("{md5} {}", sha()),
            };
            md.push(("hash", hash));
        }
        if self.writes(self.style.length, &format!("{key} length")) {
            md.push(("length", bytes.len().to_string()));
        }
        (lastmod, md)
    }

    /// Returns the time that a version states as that of its last modification.
    fn modified(&self, event: &Event) -> i64 {
        let before = self.set.state_before(event).filter(|_| self.oddities.restores_times);
        before.unwrap_or(event).time
    }

    pub(super) fn url_entry(&self, loc: &str, lastmod: &str, md: &[(&str, String)]) -> String {
        let p = self.style.prefix;
        let md = if md.is_empty() || self.style.dialect == Dialect::Sitemap {
            String::new()
        } else {
            format!("<{p}:md{}/>", attributes(md))
        };
        format!("<url><loc>{loc}</loc>{lastmod}{md}</url>\n")
    }

    pub(super) fn resource_entry(&self, event: &Event, key: &str) -> String {
        let (lastmod, md) = self.described(event, key);
        self.url_entry(&self.set.url(self.base, event.resource), &lastmod, &md)
    }

    pub(super) fn change_entry(&self, event: &Event, key: &str, path: Option<String>) -> String {
        let change = match event.version {
            None => "deleted",
            Some(_) if self.set.is_creation(event) => "created",
            Some(_) => "updated",
        };
        let (mut lastmod, described) = self.described(event, key);
        let mut md = vec![("change", change.to_owned())];
        let entry = format!("{key} {} {}", event.resource, event.time);
        self.timed(&mut md, ("datetime", self.style.datetime), &entry, event.time);
        let in_lastmod = !matches!(self.style.dialect, Dialect::V1_1 | Dialect::Sitemap);
        if in_lastmod
            || (event.version.is_none() && self.style.datetime == Written::Never && !lastmod.is_empty())
        {
            lastmod = format!("<lastmod>{}</lastmod>", self.time(event.time));
        }
        md.extend(described);
        md.extend(path.map(|path| ("path", path)));
        self.url_entry(&self.set.url(self.base, event.resource), &lastmod, &md)
    }

    /// Returns the entries of a list of changes, in the order that the Source writes them.
    pub(super) fn listed(&self, segment: &Segment, key: &str) -> Vec<Event> {
        let mut events = self.set.listed(segment, self.style.precision);
        if self.style.dialect == Dialect::DLib {
            events.reverse();
        }
        if self.style.shuffled {
            // Changes with the same written time keep their order, because only that tells which is the last.
            events.sort_by_key(|event| roll(self.seed, &format!("{key} {}", self.time(event.time))));
        }
        events
    }

    pub(super) fn change_entries(&self, events: &[Event], key: &str) -> String {
        let mut text = String::new();
        for event in events {
            let entry = self.change_entry(event, key, None);
            text += &entry;
            if self.style.duplicates && roll(self.seed, &entry).is_multiple_of(3) {
                text += &entry;
            }
        }
        text
    }
}
