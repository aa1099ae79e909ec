use std::collections::BTreeMap;

use resourcesync::{Capability, Change, Form, Header, Link, Relation};

use super::{
    item::Content,
    pack::{Packaged, Packer},
    states::States,
};
use crate::{
    Error, Monitor, Problem,
    catalogue::{ChangeRecord, Snapshot},
    content::Holdings,
    render::{ChangeDumpFacts, ChangePackageFact, DocumentFact, Moment, Now, Policy, SetPolicy, part_name},
    sink::FolderSink,
};

/// Makes packages of changes, each observed state with its bytes (§13).
pub(crate) struct ChangePackages<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) holdings: &'a Holdings,
    pub(crate) states: &'a States,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) monitor: &'a dyn Monitor,
    pub(crate) now: Now,
}

impl ChangePackages<'_> {
    /// Keeps the states of the changes that no package has yet; returns how many changes these are and when the first
    /// of them was.
    pub(crate) fn keep_states(
        &self,
        set: u8,
        held: &ChangeDumpFacts,
    ) -> Result<Option<(u64, Moment)>, Error> {
        let mut pending: Option<(u64, Moment)> = None;
        for change in self.snapshot.changes(1 << set, held.through) {
            let change = change?;
            if change.change != Change::Deleted {
                self.states.keep(&change, self.holdings, self.snapshot)?;
            }
            pending.get_or_insert((0, Moment(change.datetime))).0 += 1;
        }
        Ok(pending)
    }

    /// Packs the changes that no package has yet.
    pub(crate) fn pack(
        &self,
        (number, set): (u8, &SetPolicy),
        held: ChangeDumpFacts,
        sink: &mut FolderSink,
        documents: &mut BTreeMap<String, DocumentFact>,
    ) -> Result<ChangeDumpFacts, Error> {
        let mut contents = Vec::new();
        for change in self.snapshot.changes(1 << number, held.through) {
            contents.extend(self.content(change?));
        }
        let (from, until) = (held.until, Moment(self.now.completed));
        let packer = Packer {
            holdings: self.holdings,
            base: self.policy.place.base(),
            write: &self.policy.write,
            monitor: self.monitor,
        };
        let stem = |extension| part_name("changedump", until.0, 1, extension);
        let names = Packaged { set, package: stem("zip"), manifest: stem("xml") };
        let package = packer.package(names, &manifest_header(set, from, until), contents, sink, documents)?;
        let mut packages = held.packages;
        packages.push(ChangePackageFact { from, until, package });
        Ok(ChangeDumpFacts { through: self.now.sequence, until, packages, ..held })
    }

    /// A line of the manifest. A state that nobody has seen, as another followed at once, is not in it.
    fn content(&self, change: ChangeRecord) -> Option<Content> {
        if change.change == Change::Deleted {
            return Some(Content::Deleted(change));
        }
        let kept = self.states.find(&change.state);
        if kept.is_none() {
            let what = "was changed again before this state could be kept; the Change Dump is without it";
            self.monitor.problem(&Problem::warning(change.uri.as_str(), what));
        }
        kept.map(|file| Content::Kept(change, file))
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
