//! Writes Resource Lists and Resource Dumps.

use super::{Claim, Inventory, Part, Writer, body, heads::attributes, roll};
use crate::{package, source::Event, style::Dialect};

/// The end of the name of a manifest copy, after the name of its package.
const COPY: &str = ".xml";

impl Writer<'_> {
    /// Returns the resources of an inventory, divided into the parts that the style has.
    pub(super) fn divided(&self, at: i64) -> Vec<Vec<Event>> {
        let mut parts = vec![Vec::new(); self.style.parts];
        for event in self.set.state_at(at).into_iter().flatten() {
            parts[event.resource % self.style.parts].push(event);
        }
        if self.oddities.reorders {
            for part in &mut parts {
                part.sort_by_key(|event| roll(self.seed, &format!("{at} {}", event.resource)));
            }
        }
        parts
    }

    pub(super) fn write_resource_list(&mut self) -> Inventory {
        const NAME: &str = "resourcelist.xml";
        let at = self.set.inventory;
        let is_index = self.style.parts > 1 || self.oddities.lone_index;
        let (mut parts, mut members) = (Vec::new(), String::new());
        for (number, events) in self.divided(at).into_iter().enumerate() {
            let name = if is_index { format!("resourcelist-{number}.xml") } else { NAME.to_owned() };
            let key = format!("{name} {at}");
            let mut entries = String::new();
            for event in &events {
                let entry = self.resource_entry(event, &key);
                entries += &entry;
                if self.style.duplicates && roll(self.seed, &entry).is_multiple_of(5) {
                    entries += &entry;
                }
            }
            let md = self.snapshot("resourcelist", &key, at);
            let text = self.document(false, &md, &self.links(&key, is_index.then_some(NAME)), &entries);
            self.put(&name, text);
            let mut md = Vec::new();
            self.timed(&mut md, ("at", self.style.member_at), &format!("member {key}"), at);
            members += &self.member(&name, &md);
            let mut needs = vec![self.path(&name)];
            if is_index {
                needs.push(self.path(NAME));
            }
            let claims = events.iter().map(|event| Claim::of(event, at)).collect();
            parts.push(Part { needs, or: None, claims });
        }
        if is_index {
            let key = format!("index {at}");
            let md = self.snapshot("resourcelist", &key, at);
            let text = self.document(true, &md, &self.links(&key, None), &members);
            self.put(NAME, text);
        }
        Inventory { at, parts }
    }

    /// Returns an entry of an index.
    pub(super) fn member(&self, name: &str, md: &[(&str, String)]) -> String {
        let p = self.style.prefix;
        let md = if md.is_empty() || self.style.dialect == Dialect::Sitemap {
            String::new()
        } else {
            format!("<{p}:md{}/>", attributes(md))
        };
        format!("<sitemap><loc>{}</loc>{md}</sitemap>\n", self.url(name))
    }

    pub(super) fn write_resource_dump(&mut self) -> Inventory {
        const NAME: &str = "resourcedump.xml";
        let at = self.set.dump;
        let (mut parts, mut entries) = (Vec::new(), String::new());
        for (number, events) in self.divided(at).into_iter().enumerate() {
            let key = format!("dump {number} {at}");
            let package = format!("dump-{number}-{}.zip", at % 1_000_000_007);
            let mut manifest = String::new();
            let mut members = Vec::new();
            for event in &events {
                let (lastmod, mut md) = self.described(event, &key);
                md.push(("path", format!("/resources/{}", event.resource)));
                manifest += &self.url_entry(&self.set.url(self.base, event.resource), &lastmod, &md);
                let version = event.version.unwrap_or_default();
                let bytes = body(self.style, self.seed, self.set, event.resource, version);
                members.push((format!("resources/{}", event.resource), bytes));
            }
            let md = self.snapshot("resourcedump-manifest", &key, at);
            let manifest = self.document(false, &md, &self.links(&key, None), &manifest);
            entries += &self.package(&package, &key, (manifest, members), &[]);
            let needs = vec![self.path(NAME), self.path(&package)];
            let or = self.copy_of_manifest(&package);
            parts.push(Part { needs, or, claims: events.iter().map(|event| Claim::of(event, at)).collect() });
        }
        let md = self.snapshot("resourcedump", &format!("dump {at}"), at);
        let text = self.document(false, &md, &self.links(&format!("dump {at}"), None), &entries);
        self.put(NAME, text);
        Inventory { at, parts }
    }

    /// Returns the path of the copy of a package's manifest; `None` if this Source writes no copies.
    pub(super) fn copy_of_manifest(&self, package: &str) -> Option<String> {
        self.style.contents.then(|| self.path(&format!("{package}{COPY}")))
    }

    /// Writes a package, and a copy of its manifest if this Source has copies. Returns the entry of the dump.
    pub(super) fn package(
        &mut self,
        name: &str,
        key: &str,
        (manifest, members): (Vec<u8>, Vec<(String, Vec<u8>)>),
        times: &[(&'static str, String)],
    ) -> String {
        let mut link = String::new();
        if self.style.contents {
            let copy = format!("{name}{COPY}");
            link = format!("<{}:ln rel=\"contents\" href=\"{}\"/>", self.style.prefix, self.url(&copy));
            self.put(&copy, manifest.clone());
        }
        let mut all = vec![("manifest.xml".to_owned(), manifest)];
        all.extend(members);
        let bytes = package::zip(&all);
        let mut md = vec![("type", "application/zip".to_owned())];
        if self.writes(self.style.length, &format!("package {key}")) {
            md.push(("length", bytes.len().to_string()));
        }
        md.extend(times.iter().cloned());
        self.put(name, bytes);
        let (loc, p) = (self.url(name), self.style.prefix);
        format!("<url><loc>{loc}</loc><{p}:md{}/>{link}</url>\n", attributes(&md))
    }
}
