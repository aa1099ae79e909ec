//! Entries with a part that no document can express. Values from upstream or from an application are not under our
//! control: one bad link or URI must not prevent the publication of everything else.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use resourcesync::{DocumentWriter, Entry, Header, Link, WriteError, WriteOptions};

/// A part of an entry that is not in a document because it would break a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Omission {
    /// The resource.
    pub(crate) uri: String,
    /// The part that is left out, and the rule.
    pub(crate) what: String,
    /// `true` if nothing of it is in the document.
    pub(crate) whole: bool,
}

/// The omissions of one publication, once for each resource: a resource is in several documents.
#[derive(Debug, Default)]
pub(crate) struct Omissions {
    first: BTreeMap<String, String>,
    /// The number of further ones after the limit.
    more: u64,
}

impl Omissions {
    /// The resources that are reported by name, so that memory does not grow with a Source of nothing but faults.
    const NAMED: usize = 1_000;

    pub(crate) fn add(&mut self, omission: Omission) {
        if self.first.len() < Self::NAMED || self.first.contains_key(&omission.uri) {
            self.first.entry(omission.uri).or_insert(omission.what);
        } else {
            self.more += 1;
        }
    }

    /// Returns the resources that are known by name, and the parts left out of them.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.first.iter().map(|(uri, what)| (uri.as_str(), what.as_str()))
    }

    /// Returns the number of resources; beyond a thousand, one counts once for each document.
    pub(crate) fn count(&self) -> u64 {
        self.first.len() as u64 + self.more
    }
}

/// The document that entries are written to.
#[derive(Clone, Debug)]
pub(crate) struct Fitting {
    header: Header,
    options: WriteOptions,
}

impl Fitting {
    pub(crate) fn new(header: &Header, options: &WriteOptions) -> Self {
        Self { header: header.clone(), options: options.clone() }
    }

    /// Writes an entry, or the parts of it that a document can express. Returns the parts left out; `None` if there
    /// are none.
    ///
    /// # Errors
    /// If the sink fails, or a valid entry is in the wrong order: that is not a fault of the resource.
    pub(crate) fn write<W: Write>(
        &self,
        writer: &mut DocumentWriter<W>,
        entry: &Entry,
    ) -> Result<Option<Omission>, WriteError> {
        let error = match writer.write_entry(entry) {
            Err(error @ WriteError::Rule { .. }) => error,
            written => return written.map(|()| None),
        };
        let omission = |what, whole| Some(Omission { uri: entry.loc.to_string(), what, whole });
        let Some(reduced) = self.reduce(entry) else {
            return Ok(omission(format!("cannot be in a document: {error}"), true));
        };
        if reduced == *entry {
            return Err(error);
        }
        writer.write_entry(&reduced)?;
        Ok(omission(format!("is published without {}: {error}", missing(entry, &reduced)), false))
    }

    /// Returns the entry without the values and links that break a rule; `None` if it breaks one without them too.
    fn reduce(&self, entry: &Entry) -> Option<Entry> {
        let mut reduced = entry.clone();
        reduced.links.clear();
        if !self.takes(&reduced) {
            // The values that neither locate the resource nor describe its change.
            let bare = &mut reduced.metadata;
            (bare.media_type, bare.encoding, bare.length, reduced.priority) = (None, None, None, None);
            bare.other.clear();
            if !self.takes(&reduced) {
                reduced.metadata.hash = resourcesync::Digests::default();
            }
            if !self.takes(&reduced) {
                return None;
            }
            self.put_back(entry, &mut reduced);
        }
        for link in &entry.links {
            reduced.links.push(link.clone());
            if !self.takes(&reduced) {
                reduced.links.pop();
            }
        }
        Some(reduced)
    }

    /// Restores each value that is valid by itself.
    fn put_back(&self, entry: &Entry, reduced: &mut Entry) {
        let given: [fn(&Entry, &mut Entry); 5] = [
            |entry, reduced| reduced.metadata.media_type.clone_from(&entry.metadata.media_type),
            |entry, reduced| reduced.metadata.encoding.clone_from(&entry.metadata.encoding),
            |entry, reduced| reduced.metadata.length = entry.metadata.length,
            |entry, reduced| reduced.metadata.other.clone_from(&entry.metadata.other),
            |entry, reduced| reduced.priority.clone_from(&entry.priority),
        ];
        for give in given {
            let mut tried = reduced.clone();
            give(entry, &mut tried);
            if self.takes(&tried) {
                *reduced = tried;
            }
        }
    }

    /// Returns `true` if the entry can be the first of such a document.
    fn takes(&self, entry: &Entry) -> bool {
        DocumentWriter::new(io::sink(), &self.header, self.options.clone())
            .and_then(|mut writer| writer.write_entry(entry))
            .is_ok()
    }
}

/// Names the parts that an entry has lost.
fn missing(entry: &Entry, reduced: &Entry) -> String {
    let (before, after) = (&entry.metadata, &reduced.metadata);
    let mut names: Vec<String> = [
        ("type", before.media_type != after.media_type),
        ("encoding", before.encoding != after.encoding),
        ("length", before.length != after.length),
        ("hash", before.hash != after.hash),
        ("attributes of its own", before.other != after.other),
        ("priority", entry.priority != reduced.priority),
    ]
    .into_iter()
    .filter(|(_, is_lost)| *is_lost)
    .map(|(name, _)| name.to_owned())
    .collect();
    let is_lost = |link: &&Link| !reduced.links.contains(link);
    let lost = entry.links.iter().filter(is_lost).map(|link| format!("the link rel={:?}", link.rel.as_str()));
    names.extend(lost.take(3));
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use resourcesync::{Capability, Form, MediaType, Metadata, Relation, Uri, document::Attribute};

    use super::*;

    fn entry(uri: &str) -> Entry {
        Entry::new(Uri::parse(uri).unwrap())
    }

    fn link(rel: &str) -> Link {
        Link::new(Relation::parse(rel), Uri::parse("http://x/target").unwrap())
    }

    fn fitted(entry: &Entry) -> (String, Option<Omission>) {
        let mut header = Header::new(Form::List, Capability::ResourceList);
        header.links.push(Link::new(Relation::Up, Uri::parse("http://x/capabilitylist.xml").unwrap()));
        header.metadata.get_or_insert_with(Metadata::default).at =
            Some(resourcesync::DateTime::from_unix_seconds(0));
        let fitting = Fitting::new(&header, &WriteOptions::new());
        let mut writer = DocumentWriter::new(Vec::new(), &header, WriteOptions::new()).unwrap();
        let omission = fitting.write(&mut writer, entry).unwrap();
        (String::from_utf8(writer.finish().unwrap()).unwrap(), omission)
    }

    #[test]
    fn c3_a_uri_that_is_too_long_is_left_out_and_reported() {
        let long = format!("http://x/{}", "a".repeat(2_047));
        let (text, omission) = fitted(&entry(&long));
        assert!(!text.contains("<url>"), "{text}");
        assert!(omission.is_some_and(|omission| omission.uri == long && omission.what.contains("GEN-14")));
    }

    #[test]
    fn c5_a_link_that_breaks_a_rule_is_left_out_and_the_others_stay() {
        let mut unknown = link("describedby");
        unknown.other.push(Attribute::new("", "x", "1"));
        let mut entry = entry("http://x/a");
        entry.links = vec![link("profile"), unknown, link("a b"), link("license")];
        let (text, omission) = fitted(&entry);
        assert!(text.contains("profile") && text.contains("license"), "{text}");
        assert!(!text.contains("describedby") && !text.contains("a b"), "{text}");
        assert!(omission.unwrap().what.contains("the link rel=\"describedby\", the link rel=\"a b\""));
    }

    #[test]
    fn c4_values_that_are_not_xml_are_left_out_and_the_others_stay() {
        let mut entry = entry("http://x/a");
        entry.metadata.length = Some(7);
        entry.metadata.media_type = Some(MediaType::new("text/\u{1}plain"));
        entry.metadata.encoding = Some("g\u{fffe}zip".into());
        let (text, omission) = fitted(&entry);
        assert!(text.contains("length=\"7\"") && !text.contains("type="), "{text}");
        assert!(omission.unwrap().what.contains("without type, encoding"));
    }

    #[test]
    fn an_entry_without_fault_loses_nothing() {
        let mut entry = entry("http://x/a");
        entry.links = vec![link("profile")];
        assert_eq!(fitted(&entry).1, None);
    }
}
