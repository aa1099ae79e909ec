//! Resource Dumps (§11): packages of all resources of a set, built concurrently with publications.

use std::{
    cell::Cell,
    collections::BTreeMap,
    iter::{self, Peekable},
};

use resourcesync::{Capability, Form, Header, Link, Relation, Uri};

use super::{
    item::ItemContent,
    pack::{Packaged, Packer},
    room::PackageRoom,
};
use crate::{
    DeletionGuard, DumpOptions, Error, PublishMonitor, PublishPhase, PublishProblem, PublishProgress,
    catalogue::{Catalogue, Resource, Snapshot},
    content::Holdings,
    records::{Moment, PublishedDocument, PublishedPackage, PublishedResourceDump},
    render::{RESOURCE_DUMP, SetPolicy, SourcePolicy, part_name, resource_entry},
    scan::ScanStop,
    sink::FolderSink,
};

/// Resource Dumps to be built (§11), concurrently with publications: it holds nothing that they need.
#[derive(Debug)]
pub struct DumpJob {
    pub(crate) policy: SourcePolicy,
    pub(crate) options: DumpOptions,
    pub(crate) catalogue: Catalogue,
    pub(crate) holdings: Holdings,
    pub(crate) sink: FolderSink,
    /// The numbers of the sets whose dump is due.
    pub(crate) due: Vec<u8>,
    /// The resources that a dump may lack because their files are gone.
    pub(crate) guard: DeletionGuard,
    /// The request to end before all packages are made.
    pub(crate) stop: ScanStop,
}

/// Packages that are built and staged; [`crate::Publisher::place_dumps`] puts them in place.
#[derive(Debug)]
pub struct BuiltDumps {
    pub(crate) sink: FolderSink,
    /// The dump of each set, by its name; `None` if the set can have none, and has to give up the one that it has.
    pub(crate) sets: BTreeMap<String, Option<PublishedResourceDump>>,
    pub(crate) documents: BTreeMap<String, PublishedDocument>,
    /// The number of resources that are left out because they cannot be read.
    pub(crate) unreadable: u64,
}

impl DumpJob {
    /// Builds the packages; this takes as long as reading the resources does.
    ///
    /// # Errors
    /// If the catalogue cannot be read, the packages cannot be written, or more files are gone than the guard lets a
    /// publication delete.
    pub fn build(mut self, monitor: &dyn PublishMonitor) -> Result<BuiltDumps, Error> {
        monitor.phase(PublishPhase::Pack);
        let (mut sets, mut documents) = (BTreeMap::new(), BTreeMap::new());
        let unreadable = Cell::new(0);
        let mut sink = std::mem::take(&mut self.sink);
        for number in &self.due {
            let Some(set) = self.policy.sets.get(usize::from(*number)) else { continue };
            let snapshot = self.catalogue.snapshot()?;
            if let Some(first) = first_without_file(&self.holdings, &snapshot, *number)? {
                report_without_dump(set, &first, monitor);
                sets.insert(set.name.clone(), None);
                continue;
            }
            let (unreadable, gone) = (&unreadable, &Cell::new(0));
            let dump = DumpBuild { job: &self, set, snapshot: &snapshot, monitor, unreadable, gone };
            let published = dump.build(*number, &mut sink, &mut documents)?;
            sets.insert(set.name.clone(), Some(published));
        }
        Ok(BuiltDumps { sink, sets, documents, unreadable: unreadable.get() })
    }
}

/// Returns the first resource of a set that has no file here; `None` if each one has. No package can have such a resource.
/// A Resource Dump has all resources of its set, or none is offered (CAP-9), and a Change Dump all changes (CDM-2).
pub(crate) fn first_without_file(
    holdings: &Holdings,
    snapshot: &Snapshot,
    set: u8,
) -> Result<Option<Uri>, Error> {
    // Only an application and a manifest name resources without files; their keys begin with these bytes. Those of folders,
    // which may be many more, are passed over.
    let (named, _) = Holdings::keys_of_named(None);
    let listed = holdings.manifests().iter().map(|manifest| vec![manifest.number]);
    for prefix in iter::once(named).chain(listed) {
        for resource in snapshot.resources_after(1 << set, &prefix) {
            let resource = resource?;
            if !resource.key.starts_with(&prefix) {
                break;
            }
            if !holdings.has_file(&resource) {
                return Ok(Some(resource.uri));
            }
        }
    }
    Ok(None)
}

/// Reports that a set has no Resource Dump, because of a resource without a file.
pub(crate) fn report_without_dump(set: &SetPolicy, resource: &Uri, monitor: &dyn PublishMonitor) {
    let what = format!(
        "is not published: a dump has all resources of its set, and {resource} has no file here; put resources without \
         files into a set of their own"
    );
    monitor.problem(&PublishProblem::warning(set.place.uri(RESOURCE_DUMP).as_str(), what));
}

/// One dump while it is built.
struct DumpBuild<'a> {
    job: &'a DumpJob,
    set: &'a SetPolicy,
    snapshot: &'a Snapshot,
    monitor: &'a dyn PublishMonitor,
    unreadable: &'a Cell<u64>,
    /// The number of resources of this dump that are left out because their files are gone.
    gone: &'a Cell<u64>,
}

impl DumpBuild<'_> {
    fn build(
        &self,
        number: u8,
        sink: &mut FolderSink,
        documents: &mut BTreeMap<String, PublishedDocument>,
    ) -> Result<PublishedResourceDump, Error> {
        let described = self.snapshot.resources(1 << number).map(|resource| {
            let mut resource = resource?;
            self.job.holdings.describe(number, self.snapshot, &mut resource)?;
            Ok::<_, Error>(resource)
        });
        let mut resources = described.peekable();
        let (mut packages, mut done, mut bytes) = (Vec::new(), 0, 0);
        let total = self.snapshot.totals(number)?.resources;
        while resources.peek().is_some() || packages.is_empty() {
            if self.job.stop.is_requested() {
                return Err(Error::Stopped);
            }
            let part = self.next_part(&mut resources)?;
            done += part.len() as u64;
            bytes += part.iter().filter_map(|resource| resource.state.length).sum::<u64>();
            packages.push(self.package(packages.len() + 1, part, sink, documents)?);
            self.refuse_loss(total)?;
            let progress = PublishProgress {
                total: Some(total),
                ..PublishProgress::new(PublishPhase::Pack, done, bytes)
            };
            self.monitor.progress(progress);
        }
        let head = self.snapshot.head();
        Ok(PublishedResourceDump {
            at: Moment(self.snapshot.at()),
            completed: Moment(self.job.catalogue.now()),
            sequence: head.sequence,
            revision: head.revision,
            packages,
        })
    }

    /// Refuses a dump that lacks more resources than a publication may delete. A reader who takes it for all resources would
    /// delete the others.
    fn refuse_loss(&self, resources: u64) -> Result<(), Error> {
        let (deletions, guard) = (self.gone.get(), self.job.guard);
        if !guard.refuses(deletions, resources) {
            return Ok(());
        }
        let (set, limit) = (self.set.name.clone(), guard.most.limit(resources));
        let empty = deletions >= resources && !guard.allow_empty;
        Err(Error::DeletionsRefused { set, deletions, resources, limit, empty })
    }

    fn package(
        &self,
        number: usize,
        part: Vec<Resource>,
        sink: &mut FolderSink,
        documents: &mut BTreeMap<String, PublishedDocument>,
    ) -> Result<PublishedPackage, Error> {
        let at = self.snapshot.at();
        let (package, manifest) =
            (part_name("resourcedump", at, number, "zip"), part_name("resourcedump", at, number, "xml"));
        let packer = Packer {
            holdings: &self.job.holdings,
            spool: None,
            out: None,
            base: self.job.policy.place.base(),
            write: &self.job.policy.write,
            monitor: self.monitor,
            unreadable: self.unreadable,
            gone: self.gone,
        };
        let names = Packaged { set: self.set, package, manifest };
        let part = part.into_iter().map(ItemContent::Resource).collect();
        packer.package(names, &self.manifest_header(), part, sink, documents)
    }

    /// Takes as many resources as fit into one package, at least one if any are left.
    fn next_part(
        &self,
        resources: &mut Peekable<impl Iterator<Item = Result<Resource, Error>>>,
    ) -> Result<Vec<Resource>, Error> {
        let mut room = PackageRoom::new(&self.job.options, &self.job.policy)?;
        let mut part = Vec::new();
        while let Some(next) = resources.next_if(|next| {
            let Ok(next) = next else { return true };
            room.take(&resource_entry(next.clone()), next.state.length.unwrap_or_default())
        }) {
            part.push(next?);
        }
        Ok(part)
    }

    /// Returns the header of a manifest. It has no `completed`, because it is written before the bitstreams (RDM-2).
    fn manifest_header(&self) -> Header {
        let mut header = Header::new(Form::List, Capability::ResourceDumpManifest);
        if let Some(metadata) = &mut header.metadata {
            metadata.at = Some(self.snapshot.at());
        }
        header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
        header
    }
}
