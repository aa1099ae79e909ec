//! Change Dumps (§13): packages of the changes, each state with its bytes.

use std::{cell::Cell, collections::BTreeMap, io, iter::Peekable, path::Path};

use instep_store::{Shortage, error_chain};
use resourcesync::{Capability, Change, DateTime, Entry, Form, Header, Link, Relation, Uri};

use super::{
    item::ItemContent,
    pack::{Packaged, Packer},
    room::PackageRoom,
};
use crate::{
    DumpOptions, Error, PublishMonitor, PublishProblem,
    catalogue::{ChangeRecord, Resource, Snapshot},
    content::{Holdings, StateSpool},
    records::{Moment, PublishedChangeDump, PublishedChangePackage, PublishedDocument, PublishedPackage},
    render::{CHANGE_DUMP, Now, SetPolicy, SourcePolicy, change_entry, part_name},
    sink::FolderSink,
};

/// Makes packages of changes, each observed state with its bytes (§13).
pub(crate) struct ChangePackages<'a> {
    pub(crate) policy: &'a SourcePolicy,
    pub(crate) holdings: &'a Holdings,
    pub(crate) spool: &'a StateSpool,
    /// The folder of documents, patches among them.
    pub(crate) out: &'a Path,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) monitor: &'a dyn PublishMonitor,
    pub(crate) now: Now,
    /// The number of resources that are left out because they cannot be read.
    pub(crate) unreadable: Cell<u64>,
    /// `true` once the disk had no room for a package.
    pub(crate) lacks_room: Cell<bool>,
    /// The bounds of one package.
    pub(crate) options: &'a DumpOptions,
    /// Returns `true` once the work is to end.
    pub(crate) ends: &'a dyn Fn() -> bool,
}

impl ChangePackages<'_> {
    /// Returns the number of changes that are in no package yet, and the time of the first; `None` if there are none.
    pub(crate) fn pending(
        &self,
        set: u8,
        held: &PublishedChangeDump,
    ) -> Result<Option<(u64, Moment)>, Error> {
        let count = self.snapshot.count_changes(1 << set, held.through)?;
        let first = self.snapshot.changes(1 << set, held.through).next().transpose()?;
        Ok(first.map(|first| (count, Moment(first.datetime))))
    }

    /// Packs the changes that no package has yet: a manifest has as many entries and bytes as a document may have
    /// (GEN-12), and all of its entries are in memory. One package ends where the next begins, as Change Lists do. The
    /// last one ends before a change that has to wait, and before a package for which the disk has no room: packages are
    /// an addition to the lists, which are published without it.
    pub(crate) fn pack(
        &self,
        number: u8,
        set: &SetPolicy,
        held: PublishedChangeDump,
        sink: &mut FolderSink,
        documents: &mut BTreeMap<String, PublishedDocument>,
    ) -> Result<PublishedChangeDump, Error> {
        let described = self.snapshot.changes(1 << number, held.through).map(|change| {
            let mut change = change?;
            self.holdings.describe_change(number, self.snapshot, &mut change)?;
            Ok::<_, Error>(change)
        });
        let mut changes = described.peekable();
        let (mut from, mut packages) = (held.until, held.packages);
        let mut packed = held.through;
        loop {
            let NextPackage { contents, through, waiting } =
                self.next_package(number, &mut changes, packed)?;
            if waiting.is_some() && through == packed {
                return Ok(PublishedChangeDump { through, until: from, packages, from: held.from });
            }
            if let Some(Err(error)) = changes.next_if(Result::is_err) {
                return Err(error);
            }
            let in_log = || changes.peek().and_then(|next| Some(next.as_ref().ok()?.datetime.unix_micros()));
            let next = waiting.or_else(in_log);
            let until = next.map_or(self.now.completed, |next| DateTime::from_unix_micros(next - 1));
            let interval = (from, Moment(until));
            let package = match self.package(set, interval, contents, sink, documents) {
                Err(error) if Shortage::behind(&error) == Some(Shortage::Room) => {
                    self.wait_for_room(set, &error);
                    let (through, until) = (packed, from);
                    return Ok(PublishedChangeDump { through, until, packages, from: held.from });
                }
                package => package?,
            };
            packages.push(PublishedChangePackage { from, until: interval.1, package });
            (from, packed) = (interval.1, through);
            if next.is_none() || waiting.is_some() {
                let through = if next.is_none() { self.now.sequence } else { through };
                return Ok(PublishedChangeDump { through, until: from, packages, from: held.from });
            }
        }
    }

    /// Takes the changes of the next package: as many as it has room for, up to one that has to wait. The change `packed` is
    /// the last one that has a package.
    fn next_package(
        &self,
        number: u8,
        changes: &mut Peekable<impl Iterator<Item = Result<ChangeRecord, Error>>>,
        packed: u64,
    ) -> Result<NextPackage, Error> {
        let mut package = NextPackage { contents: Vec::new(), through: packed, waiting: None };
        let mut room = PackageRoom::new(self.options, self.policy)?;
        let mut takes = |change: &ChangeRecord| room.take(&self.measured(change), bytes_of(change));
        while let Some(change) = changes.next_if(|next| next.as_ref().is_ok_and(&mut takes)) {
            // Nothing is in place yet: the next publication packs these changes again.
            if (self.ends)() {
                return Err(Error::Stopped);
            }
            let change = change?;
            let (sequence, datetime) = (change.sequence, change.datetime.unix_micros());
            match self.content(number, change)? {
                PackedChange::Item(item) => package.contents.push(*item),
                PackedChange::LeftOut => {}
                PackedChange::Waits => {
                    package.waiting = Some(datetime);
                    break;
                }
            }
            package.through = sequence;
        }
        Ok(package)
    }

    fn package(
        &self,
        set: &SetPolicy,
        (from, until): (Moment, Moment),
        contents: Vec<ItemContent>,
        sink: &mut FolderSink,
        documents: &mut BTreeMap<String, PublishedDocument>,
    ) -> Result<PublishedPackage, Error> {
        let packer = Packer {
            holdings: self.holdings,
            spool: Some(self.spool),
            out: Some(self.out),
            base: self.policy.place.base(),
            write: &self.policy.write,
            monitor: self.monitor,
            unreadable: &self.unreadable,
            gone: &Cell::new(0),
        };
        let stem = |extension| part_name("changedump", until.0, 1, extension);
        let names = Packaged { set, package: stem("zip"), manifest: stem("xml") };
        packer.package(names, &manifest_header(set, from, until), contents, sink, documents)
    }

    /// Reports that the next publication makes a package, because the disk has no room for it.
    fn wait_for_room(&self, set: &SetPolicy, error: &Error) {
        self.lacks_room.set(true);
        let what = format!(
            "is published without the latest changes, which the next publication packs: {}",
            error_chain(error)
        );
        self.monitor.problem(&PublishProblem::skipped(set.place.uri(CHANGE_DUMP).as_str(), what));
    }

    /// Returns the entry of a change as it is measured, without paths.
    fn measured(&self, change: &ChangeRecord) -> Entry {
        let mut entry = change_entry(change.clone());
        let patch = change.patch.as_ref();
        entry.links.extend(patch.and_then(|patch| patch.link(self.policy.place.base(), change.datetime)));
        entry
    }

    /// Returns a manifest entry. A state is left out if it was not kept and is no longer the present one. If it is the
    /// present one for readers and its file is gone, as while the guard withholds the deletion, the change waits: the file
    /// may come back, and a dump that has passed the change would never have it.
    fn content(&self, set: u8, change: ChangeRecord) -> Result<PackedChange, Error> {
        let item = |content| Ok(PackedChange::Item(Box::new(content)));
        if change.change == Change::Deleted {
            return item(ItemContent::Deleted(change));
        }
        let (spool, state) = (self.spool, &change.state);
        let kept = spool.find_whole(&state.digests, state.length).map_err(Error::read(spool.folder()))?;
        if kept.is_some() {
            return item(ItemContent::Kept(change));
        }
        let mut resource = self.holdings.find(self.snapshot, change.uri.as_str(), 1 << set)?;
        if let Some(resource) = &mut resource {
            self.holdings.describe(set, self.snapshot, resource)?;
        }
        if let Some(resource) = resource.filter(|resource| resource.state.same_bytes(&change.state)) {
            if self.has_lost_file(&resource) {
                let what =
                    "has no file any more; the Change Dump waits until it is back or published as deleted";
                self.monitor.problem(&PublishProblem::warning(change.uri.as_str(), what));
                return Ok(PackedChange::Waits);
            }
            return item(ItemContent::Changed(resource, change.change, change.datetime));
        }
        let what = "was changed again before this state could be kept; the Change Dump is without it";
        self.monitor.problem(&PublishProblem::warning(change.uri.as_str(), what));
        Ok(PackedChange::LeftOut)
    }

    /// Returns `true` if the file of a resource in a folder is gone. Only there does the next scan find that.
    fn has_lost_file(&self, resource: &Resource) -> bool {
        self.holdings.has_file(resource)
            && !self.holdings.is_supplied(resource)
            && self.holdings.open(resource).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// Reports that a set has no Change Dump, because of a resource without a file: a manifest names no change without its
/// bytes (CDM-7), and a package has all changes of its interval (CDM-2).
pub(crate) fn report_without_change_dump(set: &SetPolicy, resource: &Uri, monitor: &dyn PublishMonitor) {
    let what = format!(
        "is not published: a Change Dump has all changes of its set, and {resource} has no file here; put resources \
         without files into a set of their own"
    );
    monitor.problem(&PublishProblem::warning(set.place.uri(CHANGE_DUMP).as_str(), what));
}

/// The changes of a package.
struct NextPackage {
    contents: Vec<ItemContent>,
    /// The sequence number of the last one.
    through: u64,
    /// The time of the change that has to wait behind them, in microseconds; `None` if there is none.
    waiting: Option<i64>,
}

/// The place of a change among the packages.
enum PackedChange {
    /// It is an item of the package.
    Item(Box<ItemContent>),
    /// No package has it.
    LeftOut,
    /// It has to wait, and all changes after it too.
    Waits,
}

/// Returns the bytes that a change adds to a package.
fn bytes_of(change: &ChangeRecord) -> u64 {
    match change.change {
        Change::Deleted => 0,
        _ => change.state.length.unwrap_or_default(),
    }
}

fn manifest_header(set: &SetPolicy, from: Moment, until: Moment) -> Header {
    let mut header = Header::new(Form::List, Capability::ChangeDumpManifest);
    if let Some(metadata) = &mut header.metadata {
        metadata.from = Some(from.0);
        metadata.until = Some(until.0);
    }
    header.links.push(Link::new(Relation::Up, set.place.capability_list()));
    header
}
