//! A Source in memory, with a clock that goes on one second per event.

use std::collections::BTreeMap;

use resourcesync::{
    Algorithm, Change, DateTime, Digest, Digests, DocumentReader, Entry, Form, MediaType, ReadOptions, Uri,
};

use crate::{
    Error, PublishOptions,
    catalogue::{ChangeRecord, Resource, ResourceState, ResourceTotals},
    records::{ArchivedDocuments, PublishedSource},
    render::{Before, Now, Omissions, SetResources, SetView, SourcePolicy, render},
    sink::{MemorySink, Sink},
};

/// A set in memory.
#[derive(Default)]
pub(super) struct TestSet {
    pub(super) resources: Vec<Resource>,
    pub(super) changes: Vec<ChangeRecord>,
    revision: u64,
    pub(super) seconds: i64,
}

impl SetView for TestSet {
    fn totals(&self) -> Result<ResourceTotals, Error> {
        let bytes = self.resources.iter().filter_map(|it| it.state.length).sum();
        Ok(ResourceTotals { resources: self.resources.len() as u64, bytes })
    }

    fn resources(&self) -> SetResources<'_> {
        Box::new(self.resources.iter().cloned().map(Ok))
    }

    fn changes(&self, after: u64) -> Box<dyn Iterator<Item = Result<ChangeRecord, Error>> + '_> {
        Box::new(self.changes.iter().filter(move |it| it.sequence > after).cloned().map(Ok))
    }

    fn count_changes(&self, after: u64) -> Result<u64, Error> {
        Ok(self.changes(after).count() as u64)
    }
}

impl TestSet {
    pub(super) fn of(names: &[&str]) -> Self {
        Self { resources: names.iter().map(|name| resource(name, 1)).collect(), ..Self::default() }
    }

    fn tick(&mut self) -> DateTime {
        self.seconds += 1;
        DateTime::from_unix_seconds(1_800_000_000 + self.seconds)
    }

    pub(super) fn now(&mut self) -> Now {
        let at = DateTime::from_unix_micros(self.tick().unix_micros());
        let completed = DateTime::from_unix_micros(self.tick().unix_micros());
        Now::new(at, completed, self.changes.len() as u64, self.revision)
    }

    pub(super) fn change(&mut self, name: &str, change: Change) {
        let mut resource = resource(name, self.changes.len() as u64 + 2);
        let known = self.resources.iter().position(|it| it.uri == resource.uri);
        match (known, &change) {
            (Some(index), Change::Deleted) => drop(self.resources.remove(index)),
            (Some(index), _) => self.resources[index] = resource.clone(),
            (None, Change::Deleted) => {}
            (None, _) => self.resources.push(resource.clone()),
        }
        if change == Change::Deleted {
            resource.state = ResourceState::new();
        }
        let sequence = self.changes.len() as u64 + 1;
        let datetime = DateTime::from_unix_micros(self.tick().unix_micros());
        self.revision += 1;
        self.changes.push(ChangeRecord {
            sequence,
            datetime,
            change,
            uri: resource.uri,
            state: resource.state,
            before: Digests::new(),
            patch: None,
            sets: 1,
        });
    }
}

fn resource(name: &str, version: u64) -> Resource {
    let uri = Uri::parse(&format!("http://example.com/{name}")).unwrap();
    let mut resource = Resource::new(name.as_bytes().to_vec(), uri);
    resource.state.lastmod = Some(DateTime::from_unix_seconds(1_700_000_000));
    resource.state.length = Some(version);
    resource.state.media_type = Some(MediaType::new("text/plain"));
    let digest = Digest::new(Algorithm::Md5, &[u8::try_from(version % 251).unwrap(); 16]).unwrap();
    resource.state.digests = [digest].into_iter().collect();
    resource
}

/// A Source with its documents in memory.
pub(super) struct Source {
    pub(super) policy: SourcePolicy,
    pub(super) set: TestSet,
    pub(super) published: PublishedSource,
    pub(super) archives: BTreeMap<String, ArchivedDocuments>,
    /// The number of times that an archive was read.
    pub(super) archives_read: usize,
    pub(super) sink: MemorySink,
    /// `true` if the last publication did not end.
    pub(super) is_interrupted: bool,
}

impl Source {
    pub(super) fn new(set: TestSet, adjust: impl FnOnce(&mut PublishOptions)) -> Self {
        let mut options = PublishOptions::new("/nowhere", "http://example.com");
        options.lists.rotation.entries = 3;
        adjust(&mut options);
        let policy = SourcePolicy::new(&options).unwrap();
        let (published, archives) = (PublishedSource::default(), BTreeMap::new());
        let sink = MemorySink::new();
        Self { policy, set, published, archives, archives_read: 0, sink, is_interrupted: false }
    }

    /// Publishes, and returns the names written, in order.
    pub(super) fn publish(&mut self) -> Vec<String> {
        let written = self.publish_over_damage();
        self.check_references();
        written
    }

    /// Publishes while documents that are about to be removed still refer to lost ones.
    pub(super) fn publish_over_damage(&mut self) -> Vec<String> {
        let now = self.set.now();
        let views: [&dyn SetView; 1] = [&self.set];
        let before = self.before();
        let mut archives = |set: &str| {
            self.archives_read += 1;
            Ok::<_, Error>(self.archives.get(set).cloned().unwrap_or_default())
        };
        let mut published = render(
            &self.policy,
            &views,
            &before,
            now,
            &mut archives,
            &mut Omissions::default(),
            &mut self.sink,
        )
        .unwrap();
        let expired = published.expire(self.policy.lists.grace, now.at);
        let placed = self.sink.commit(&expired).unwrap();
        self.published = serde_json::from_slice(&serde_json::to_vec(&published).unwrap()).unwrap();
        assert_eq!(self.published, published);
        self.archives.append(&mut self.published.archives);
        placed.into_iter().map(|(name, _)| name.trim_start_matches("resourcesync/").to_owned()).collect()
    }

    pub(super) fn before(&self) -> Before {
        let (published, repair) = (self.published.clone(), self.is_interrupted);
        Before { published, repair, ..Before::default() }
    }

    pub(super) fn document(&self, name: &str) -> (resourcesync::Header, Vec<Entry>) {
        read(&self.sink.documents[&format!("resourcesync/{name}")])
    }

    /// Whatever a document of ours refers to below `resourcesync/` is there.
    pub(super) fn check_references(&self) {
        for (name, bytes) in self.sink.documents.iter().filter(|(name, _)| name.ends_with(".xml")) {
            let (header, entries) = read(bytes);
            let links = header.links.iter().map(|link| &link.href);
            for uri in links.chain(entries.iter().map(|entry| &entry.loc)) {
                let Some(target) = self.policy.place.name(uri.as_str()) else { continue };
                let ours = target.starts_with("resourcesync/") || target.starts_with(".well-known/");
                assert!(!ours || self.sink.documents.contains_key(target), "{name} refers to {target}");
            }
        }
    }

    /// Returns the entries of all Change Lists in the order of the index, checking that the lists join.
    pub(super) fn all_changes(&self) -> Vec<Entry> {
        let (header, members) = self.document("changelist.xml");
        assert_eq!(header.form, Form::Index);
        let mut all = Vec::new();
        let mut from = header.metadata.unwrap().from;
        for (index, member) in members.iter().enumerate() {
            let name = member.loc.as_str().rsplit('/').next().unwrap();
            let (header, entries) = self.document(name);
            let metadata = header.metadata.unwrap();
            assert_eq!((metadata.from, metadata.until), (member.metadata.from, member.metadata.until));
            assert_eq!(metadata.from, from);
            assert_eq!(metadata.until.is_none(), index + 1 == members.len());
            for entry in &entries {
                let datetime = entry.metadata.datetime.unwrap();
                assert!(
                    Some(datetime) >= metadata.from && metadata.until.is_none_or(|until| datetime <= until)
                );
            }
            from = metadata.until;
            all.extend(entries);
        }
        all
    }
}

pub(super) fn read(bytes: &[u8]) -> (resourcesync::Header, Vec<Entry>) {
    let mut reader = DocumentReader::new(bytes, ReadOptions::new()).unwrap();
    let (header, mut entries, mut entry) = (reader.header().clone(), Vec::new(), Entry::default());
    while reader.read_entry(&mut entry).unwrap() {
        entries.push(entry.clone());
    }
    (header, entries)
}
