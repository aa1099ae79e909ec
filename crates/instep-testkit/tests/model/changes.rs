//! Writes Change Lists, Change Dumps and archives.

use super::{Attributes, Claim, Part, Writer, body};
use crate::{source::Segment, style::Changes};

impl Writer<'_> {
    pub(super) fn write_change_lists(&mut self) -> Vec<Part> {
        const NAME: &str = "changelist.xml";
        let set = self.set;
        if self.style.changes == Changes::List {
            let (needs, claims) = self.write_change_list(NAME, &set.segments[0], None);
            return vec![Part { needs: vec![needs], or: None, claims }];
        }
        let mut parts = Vec::new();
        let mut members = String::new();
        for segment in &set.segments {
            let (path, claims) = self.write_change_list(&segment.name, segment, Some(NAME));
            members += &self.member(&segment.name, &self.member_interval(segment));
            parts.push(Part { needs: vec![self.path(NAME), path], or: None, claims });
        }
        let whole = Segment { name: NAME.to_owned(), from: set.segments[0].from, until: None };
        let md = self.interval("changelist", NAME, &whole);
        let text = self.document(true, &md, &self.links(NAME, None), &members);
        self.put(NAME, text);
        parts
    }

    pub(super) fn member_interval(&self, segment: &Segment) -> Attributes {
        let (key, mut md) = (format!("member {}", segment.name), Vec::new());
        self.timed(&mut md, ("from", self.style.member_from), &key, segment.from);
        if let Some(until) = segment.until {
            self.timed(&mut md, ("until", self.style.member_until), &key, until);
        }
        md
    }

    pub(super) fn write_change_list(
        &mut self,
        name: &str,
        segment: &Segment,
        index: Option<&str>,
    ) -> (String, Vec<Claim>) {
        let events = self.listed(segment, &segment.name);
        let entries = self.change_entries(&events, &segment.name);
        let md = self.interval("changelist", &segment.name, segment);
        let text = self.document(false, &md, &self.links(&segment.name, index), &entries);
        self.put(name, text);
        (self.path(name), events.iter().map(|event| Claim::of(event, event.time)).collect())
    }

    pub(super) fn write_change_dump(&mut self) -> Vec<Part> {
        const NAME: &str = "changedump.xml";
        let (set, mut entries, mut parts) = (self.set, String::new(), Vec::new());
        for segment in &set.segments {
            let until = segment.until.unwrap_or(set.published);
            let key = format!("dump of {}", segment.name);
            let package = format!("{}-{}.zip", segment.name, until % 1_000_000_007);
            let (mut manifest, mut members) = (String::new(), Vec::new());
            let events = set.listed(segment, self.style.precision);
            for (number, event) in events.iter().enumerate() {
                let path = event.version.map(|version| {
                    let bytes = body(self.style, self.seed, set, event.resource, version);
                    members.push((format!("changes/{number}"), bytes));
                    format!("/changes/{number}")
                });
                manifest += &self.change_entry(event, &key, path);
            }
            let mut closed = segment.clone();
            closed.until = Some(until);
            let md = self.interval("changedump-manifest", &key, &closed);
            let manifest = self.document(false, &md, &self.links(&key, None), &manifest);
            entries += &self.package(&package, &key, (manifest, members), &self.member_interval(&closed));
            let needs = vec![self.path(NAME), self.path(&package)];
            parts.push(Part {
                needs,
                or: self.copy_of_manifest(&package),
                claims: events.iter().map(|event| Claim::of(event, event.time)).collect(),
            });
        }
        let whole = Segment { name: NAME.to_owned(), from: set.segments[0].from, until: None };
        let md = self.interval("changedump", NAME, &whole);
        let text = self.document(false, &md, &self.links(NAME, None), &entries);
        self.put(NAME, text);
        parts
    }

    pub(super) fn write_archive(&mut self) -> Vec<Part> {
        const NAME: &str = "changelist-archive.xml";
        let (set, mut entries, mut parts) = (self.set, String::new(), Vec::new());
        for segment in &set.archived {
            let (path, claims) = self.write_change_list(&segment.name, segment, None);
            let mut md = vec![("capability", "changelist".to_owned())];
            md.extend(self.member_interval(segment));
            entries += &self.url_entry(&self.url(&segment.name), "", &md);
            parts.push(Part { needs: vec![self.path(NAME), path], or: None, claims });
        }
        let md = [("capability", "changelist-archive".to_owned())];
        let text = self.document(false, &md, &self.links(NAME, None), &entries);
        self.put(NAME, text);
        parts
    }
}
