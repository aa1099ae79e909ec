//! Change Dumps (§13): packages of the changes, each state with its bytes.

use std::{cell::Cell, collections::BTreeMap, path::Path};

use resourcesync::{Capability, Change, DateTime, Form, Header, Link, Relation};

use super::{
    item::ItemContent,
    pack::{Packaged, Packer},
};
use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::{ChangeRecord, Snapshot},
    content::{Holdings, StateSpool},
    records::{Moment, PublishedChangeDump, PublishedChangePackage, PublishedDocument, PublishedPackage},
    render::{Now, SetPolicy, SourcePolicy, part_name},
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
    /// The most changes in one package.
    pub(crate) most_changes: u64,
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

    /// Packs the changes that no package has yet: a manifest has as many entries as a document may have (GEN-12), and all
    /// of them are in memory. One package ends where the next begins, as Change Lists do.
    pub(crate) fn pack(
        &self,
        (number, set): (u8, &SetPolicy),
        held: PublishedChangeDump,
        sink: &mut FolderSink,
        documents: &mut BTreeMap<String, PublishedDocument>,
    ) -> Result<PublishedChangeDump, Error> {
        let most = usize::try_from(self.most_changes.max(1)).unwrap_or(usize::MAX);
        let mut changes = self.snapshot.changes(1 << number, held.through).peekable();
        let (mut from, mut packages) = (held.until, held.packages);
        loop {
            let mut contents = Vec::new();
            for change in changes.by_ref().take(most) {
                contents.extend(self.content(change?)?);
            }
            if let Some(Err(error)) = changes.next_if(Result::is_err) {
                return Err(error.into());
            }
            let next = changes.peek().and_then(|next| Some(next.as_ref().ok()?.datetime.unix_micros()));
            let until = next.map_or(self.now.completed, |next| DateTime::from_unix_micros(next - 1));
            let interval = (from, Moment(until));
            let package = self.package(set, interval, contents, sink, documents)?;
            packages.push(PublishedChangePackage { from, until: interval.1, package });
            from = interval.1;
            if next.is_none() {
                return Ok(PublishedChangeDump {
                    through: self.now.sequence,
                    until: from,
                    packages,
                    from: held.from,
                });
            }
        }
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
        };
        let stem = |extension| part_name("changedump", until.0, 1, extension);
        let names = Packaged { set, package: stem("zip"), manifest: stem("xml") };
        packer.package(names, &manifest_header(set, from, until), contents, sink, documents)
    }

    /// Returns a manifest entry. A state is left out if it was not kept and is no longer the present one.
    fn content(&self, change: ChangeRecord) -> Result<Option<ItemContent>, Error> {
        if change.change == Change::Deleted {
            return Ok(Some(ItemContent::Deleted(change)));
        }
        let (spool, state) = (self.spool, &change.state);
        let kept = spool.find_whole(&state.digests, state.length).map_err(Error::read(spool.folder()))?;
        if kept.is_some() {
            return Ok(Some(ItemContent::Kept(change)));
        }
        let resource = self.holdings.find(self.snapshot, change.uri.as_str())?;
        if let Some(resource) = resource.filter(|resource| resource.state.same_bytes(&change.state)) {
            return Ok(Some(ItemContent::Changed(resource, change.change, change.datetime)));
        }
        let what = "was changed again before this state could be kept; the Change Dump is without it";
        self.monitor.problem(&PublishProblem::warning(change.uri.as_str(), what));
        Ok(None)
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
