//! Batches: one package with the resources that a client requests, or with those that changed since a time.

use std::{cell::Cell, collections::BTreeMap, fs::File};

use resourcesync::{Capability, Change, DateTime, Form, Header, Link, Relation, Uri};

use super::{
    item::{ItemContent, without_repetition},
    pack::Packer,
};
use crate::{
    Error, PublishMonitor,
    catalogue::{Catalogue, ChangeRecord, Snapshot},
    content::Holdings,
    records::PublishedSet,
    render::{SetPolicy, SourcePolicy},
};

/// A request for resources in one package.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct BatchRequest {
    /// The set, by its number.
    pub set: u8,
    /// The part of the set.
    pub selection: BatchSelection,
}

/// The part of a set that is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum BatchSelection {
    /// These resources, packed with a Resource Dump Manifest (§11.2).
    Resources(Vec<Uri>),
    /// The changes since a time, packed with a Change Dump Manifest (§13.2): the last change of each resource.
    Since(DateTime),
}

impl BatchRequest {
    /// Returns a request for a part of a set.
    pub(crate) fn new(set: u8, selection: BatchSelection) -> Self {
        Self { set, selection }
    }
}

/// The limits of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct BatchLimits {
    /// Resources; 10,000.
    pub resources: usize,
    /// Their bytes; 256 MiB.
    pub bytes: u64,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { resources: 10_000, bytes: 256 << 20 }
    }
}

/// Selects and builds batches, concurrently with publications.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    pub(crate) policy: SourcePolicy,
    pub(crate) catalogue: Catalogue,
    pub(crate) holdings: Holdings,
    /// The limits of one batch.
    pub limits: BatchLimits,
}

/// A batch that was selected and not yet built.
#[derive(Debug)]
pub(crate) struct Batch {
    /// A key that is equal for requests with the same package, so that they can share one build.
    pub key: String,
    /// Resources in it.
    pub resources: usize,
    /// Their bytes.
    pub bytes: u64,
    set: u8,
    header: Header,
    contents: Vec<ItemContent>,
}

impl Batches {
    /// Selects the requested resources, without reading any of them.
    ///
    /// # Errors
    /// [`Error::UnknownResources`] and [`Error::TooEarly`] if a part cannot be provided, [`Error::TooMuch`] if it
    /// exceeds the limits.
    pub(crate) fn select(&self, request: &BatchRequest) -> Result<Batch, Error> {
        let set = self.set(request.set)?;
        let snapshot = self.catalogue.snapshot()?;
        let (capability, contents) = match &request.selection {
            BatchSelection::Resources(uris) => {
                (Capability::ResourceDumpManifest, self.resources(request.set, uris, &snapshot)?)
            }
            BatchSelection::Since(since) => {
                (Capability::ChangeDumpManifest, self.changes(request.set, *since, &snapshot)?)
            }
        };
        let bytes = contents.iter().filter_map(|content| content.resource()?.state.length).sum();
        if bytes > self.limits.bytes {
            return Err(Error::TooMuch { what: "bytes", most: self.limits.bytes });
        }
        let mut header = Header::new(Form::List, capability);
        if let Some(metadata) = &mut header.metadata {
            match request.selection {
                BatchSelection::Resources(_) => metadata.at = Some(snapshot.at()),
                BatchSelection::Since(since) => {
                    let until = snapshot.at();
                    // A client's clock may be ahead; the interval then ends now.
                    metadata.from = Some(if since > until { until } else { since });
                    metadata.until = Some(until);
                }
            }
        }
        header.links.push(Link::new(Relation::Up, set.place.capability_list()));
        let key = key(request, snapshot.head().revision);
        Ok(Batch { key, resources: contents.len(), bytes, set: request.set, header, contents })
    }

    /// Writes the package into a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn build(
        &self,
        batch: Batch,
        file: &mut File,
        monitor: &dyn PublishMonitor,
    ) -> Result<(), Error> {
        let set = self.set(batch.set)?;
        let packer = Packer {
            holdings: &self.holdings,
            spool: None,
            out: None,
            base: self.policy.place.base(),
            write: &self.policy.write,
            monitor,
            unreadable: &Cell::new(0),
            gone: &Cell::new(0),
        };
        packer.pack_into(file, &set.place.name("batch.zip"), &batch.header, batch.contents)
    }

    fn set(&self, number: u8) -> Result<&SetPolicy, Error> {
        let set = self.policy.sets.get(usize::from(number));
        set.ok_or_else(|| Error::option("set", format!("there is no set number {number}")))
    }

    fn resources(&self, set: u8, uris: &[Uri], snapshot: &Snapshot) -> Result<Vec<ItemContent>, Error> {
        let uris = without_repetition(uris);
        self.check_count(uris.len())?;
        let (mut contents, mut unknown) = (Vec::with_capacity(uris.len()), Vec::new());
        for uri in uris {
            match self.holdings.find(snapshot, uri.as_str(), 1 << set)? {
                Some(mut resource) => {
                    self.holdings.describe(set, snapshot, &mut resource)?;
                    contents.push(ItemContent::Resource(resource));
                }
                None => unknown.push(uri.to_string()),
            }
        }
        if unknown.is_empty() { Ok(contents) } else { Err(Error::UnknownResources { uris: unknown }) }
    }

    /// Returns the last change of each resource, in the order of these changes (CDM-4).
    fn changes(&self, set: u8, since: DateTime, snapshot: &Snapshot) -> Result<Vec<ItemContent>, Error> {
        let published = crate::publish::published_set(snapshot, &self.set(set)?.name)?;
        let after = sequence_before(&published, since)?;
        let mut last: BTreeMap<Uri, ChangeRecord> = BTreeMap::new();
        for change in snapshot.changes(1 << set, after) {
            let change = change?;
            if change.datetime >= since {
                last.insert(change.uri.clone(), change);
                self.check_count(last.len())?;
            }
        }
        let mut changes: Vec<_> = last.into_values().collect();
        changes.sort_by_key(|change| change.sequence);
        changes.into_iter().map(|change| self.content(set, change, snapshot)).collect()
    }

    fn content(&self, set: u8, change: ChangeRecord, snapshot: &Snapshot) -> Result<ItemContent, Error> {
        if change.change == Change::Deleted {
            return Ok(ItemContent::Deleted(change));
        }
        Ok(match self.holdings.find(snapshot, change.uri.as_str(), 1 << set)? {
            Some(mut resource) => {
                self.holdings.describe(set, snapshot, &mut resource)?;
                ItemContent::Changed(resource, change.change, change.datetime)
            }
            None => ItemContent::Deleted(ChangeRecord { change: Change::Deleted, ..change }),
        })
    }

    fn check_count(&self, resources: usize) -> Result<(), Error> {
        if resources > self.limits.resources {
            Err(Error::TooMuch { what: "resources", most: self.limits.resources as u64 })
        } else {
            Ok(())
        }
    }
}

/// Returns the sequence number after which all requested changes come. The published lists must reach back to it.
fn sequence_before(published: &PublishedSet, since: DateTime) -> Result<u64, Error> {
    let Some(lists) = &published.change_list else {
        return Err(Error::option("change list", "this set has none"));
    };
    let spans = || lists.closed.iter().chain([&lists.open]);
    let reaching = spans().rev().find(|span| span.from.0 <= since);
    let earliest = spans().next().map_or(since, |span| span.from.0);
    reaching.map(|span| span.after).ok_or(Error::TooEarly { from: earliest })
}

fn key(request: &BatchRequest, revision: u64) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[request.set]);
    hasher.update(&revision.to_le_bytes());
    match &request.selection {
        BatchSelection::Since(since) => {
            hasher.update(since.to_string().as_bytes());
        }
        BatchSelection::Resources(uris) => {
            let mut uris: Vec<_> = uris.iter().map(Uri::as_str).collect();
            uris.sort_unstable();
            uris.dedup();
            for uri in uris {
                hasher.update(uri.as_bytes()).update(b"\n");
            }
        }
    }
    hasher.finalize().to_hex().to_string()
}
