//! Changes: the entries of Change Lists, of the manifests of Change Dumps and of notifications, folded over the plan.

use instep_net::Origin;
use resourcesync::{Capability, Change, DateTime, Entry, Relation};

use super::{Draft, list::is_about_loc, merging::PartSource};
use crate::{
    Error,
    clock::latest_time,
    documents::{Document, Entries},
    plan::{
        Desired, DesiredPresence, LinksNamed, Mark, Place, Shape, Survey, fold, is_later, packed_difference,
        plausible, resource,
    },
};

/// A list whose changes are folded over the plan.
struct FoldedList<'d> {
    shape: &'d Shape,
    /// The origin that names the resources; `None` for a file.
    speaker: Option<&'d Origin>,
    /// `true` if its packages may have differences in place of resources (A16).
    packs_differences: bool,
}

impl Draft {
    /// Folds the changes of a list over the plan (§12.1): those that were not read before, and of these the ones at
    /// `since` or later. The list is read to its end before the first of them takes effect (D16).
    pub(crate) fn read_changes(
        &mut self,
        document: &Document,
        mark: Option<&Mark>,
        since: Option<DateTime>,
        begins: Option<DateTime>,
        reported: u64,
    ) -> Result<Shape, Error> {
        let latest = latest_time(document.date);
        let mut survey = Survey::new(&document.header, mark, Some(latest)).beginning(begins).since(since);
        survey = survey.alone(self.inventory.usable == 0).beside_applied(self.inventory.was_applied);
        // Read twice: the order and the times of a list are known only at its end.
        let (mut entries, mut entry) = (document.read()?, Entry::default());
        while entries.read_entry(&mut entry).map_err(|error| document.unreadable(error))? {
            self.go_on()?;
            survey.observe(&entry);
        }
        let mut shape = survey.finish();
        shape.unusable = entries.entries_read() - shape.entries;
        self.met.lost_changes |= shape.lost_changes;
        if shape.went_back || shape.known == shape.entries {
            self.account.read += shape.entries;
            self.account.known += shape.entries;
            if !shape.went_back {
                self.report_new_unusable(document, &mut entries, shape.unusable, reported);
            }
            return Ok(shape);
        }
        self.may_hold_earlier = true;
        self.met.doubtful |= shape.is_disordered;
        let root = document.header.metadata.as_ref();
        let begins = plausible(root.and_then(|root| root.from).or(begins), Some(latest));
        // An entry that is dated only by its order is later than everything held so far.
        let begins = begins.max(since);
        self.fold(document, &shape, begins, reported)?;
        Ok(shape)
    }

    fn fold(
        &mut self,
        document: &Document,
        shape: &Shape,
        begins: Option<DateTime>,
        reported: u64,
    ) -> Result<(), Error> {
        // The entries of a manifest describe the members of its package.
        let is_list = document.header.capability() == Some(&Capability::ChangeList);
        let links = if is_list { LinksNamed::All } else { LinksNamed::Some };
        let packs_differences = !is_list && document.header.dialect.packs_differences();
        let speaker = document.origin();
        let list = FoldedList { shape, speaker: speaker.as_ref(), packs_differences };
        let mut entries = document.read()?;
        let mut entry = Entry::default();
        let (mut part, mut linked, mut weight) = (Vec::new(), Vec::new(), 0);
        // The position of an entry is known only within a part: in a list of that order, later entries are older.
        let most = if shape.times.newest_first { Self::PART_OF_NEWEST } else { Self::PART };
        let (mut ordinal, mut inherited, mut modified) = (0, None, None);
        while entries.read_entry(&mut entry).map_err(|error| document.unreadable(error))? {
            self.go_on()?;
            ordinal += 1;
            self.account.read += 1;
            let place = shape.place(&entry, &mut inherited, ordinal);
            let earliest = shape.earliest(&entry, begins, &mut modified);
            if self.is_known(shape, &entry, ordinal, place)? {
                self.account.known += 1;
            } else if let Some(desired) = self.desired_by_change(&list, &entry, place, earliest)? {
                weight += desired.weight();
                weight += self.add_linked_after(&mut linked, list.speaker, &entry, &desired);
                part.push(desired);
            }
            if weight >= most {
                weight = 0;
                self.merge_changes(std::mem::take(&mut part), std::mem::take(&mut linked), links)?;
            }
        }
        self.report_new_unusable(document, &mut entries, shape.unusable, reported);
        self.merge_changes(part, linked, links)
    }

    /// Returns `true` if an entry was applied by an earlier run, or is older than the changes that count. `ordinal` is its
    /// position in the list.
    fn is_known(&self, shape: &Shape, entry: &Entry, ordinal: u64, place: Place) -> Result<bool, Error> {
        // In a list that was read before, the position of an entry shows that it is new, with any time.
        let is_before = shape.known == 0 && shape.is_before(entry, ordinal);
        Ok(ordinal <= shape.known
            || is_before
            || self.seeks_left_out && self.has_change(entry, place.time)?)
    }

    /// Returns the state that a new entry leads to. `None` if it leads to none; the account then has the reason. `earliest`
    /// is the time of a change that has none of its own.
    fn desired_by_change(
        &mut self,
        list: &FoldedList<'_>,
        entry: &Entry,
        place: Place,
        earliest: Option<DateTime>,
    ) -> Result<Option<Desired>, Error> {
        let FoldedList { shape, speaker, packs_differences } = *list;
        if self.is_deletion_of_nothing(speaker, entry)? {
            self.account.equal += 1;
            return Ok(None);
        }
        if !self.in_scope(speaker, &entry.loc) {
            self.account.unusable += 1;
            return Ok(None);
        }
        let Some(mut desired) = self.desired_after(speaker, entry, place)? else {
            self.account.excluded += 1;
            return Ok(None);
        };
        // In a list that was read before, the position of an entry shows that it is new, not its time.
        let tells_times = shape.known == 0 && self.policy.as_of.is_none();
        let says_when = shape.own_time(entry).is_some();
        (desired.says_when, desired.inherits_time) = (tells_times && says_when, !says_when);
        desired.is_appended = shape.known > 0;
        if place.time.is_none() {
            // An inventory from before that cannot undo it, because the time of the change is not known.
            self.met.undated = true;
            (desired.metadata.datetime, desired.is_undated) = (earliest, true);
        }
        if packs_differences && packed_difference(entry).is_some() {
            desired.forget_fixity();
        }
        Ok(Some(desired))
    }

    /// Reports entries without a usable `loc`, but for those that were reported when the list was read before (B27).
    fn report_new_unusable(&mut self, document: &Document, entries: &mut Entries, all: u64, reported: u64) {
        let mut before = reported.min(all);
        let unusable = all - before;
        let mut findings = entries.take_findings();
        findings.retain(|finding| {
            let is_known = before > 0 && is_about_loc(finding);
            before -= u64::from(is_known);
            !is_known
        });
        self.report_unusable(document, findings, unusable);
    }

    /// Returns `true` if an entry out of scope deletes a resource that is not held (A12): a Source that moved to another
    /// host deletes its resources at the former one.
    fn is_deletion_of_nothing(&self, speaker: Option<&Origin>, entry: &Entry) -> Result<bool, Error> {
        if entry.metadata.change != Some(Change::Deleted) {
            return Ok(false);
        }
        let uri = entry.loc.as_str();
        let is_outside = speaker.is_some_and(|speaker| self.policy.scope.check(speaker, uri).is_err());
        Ok(is_outside && self.state.held(uri)?.is_none())
    }

    /// Returns `true` if the held state of a resource has a change already, as far as is known. A change that is later than
    /// the last one that was applied to it was left out by a selection, so the held state does not have it.
    fn has_change(&self, entry: &Entry, changed: Option<DateTime>) -> Result<bool, Error> {
        let Some(held) = self.state.held(resource(&entry.loc).as_str())? else { return Ok(false) };
        let applied = plausible(held.metadata.datetime, Some(self.latest_time()));
        Ok(changed.is_none() || applied.is_some() && !is_later(changed, applied))
    }

    /// Returns the state after a change. `None` if it is later than the requested time.
    fn desired_after(
        &mut self,
        speaker: Option<&Origin>,
        entry: &Entry,
        place: Place,
    ) -> Result<Option<Desired>, Error> {
        let as_of = self.policy.as_of.zip(place.time);
        let is_after = as_of.is_some_and(|(as_of, time)| time.instant() >= as_of.end());
        self.note_undoing(entry, place.time, is_after)?;
        if is_after {
            self.note_later(Desired::new(resource(&entry.loc)))?;
            return Ok(None);
        }
        let presence = match DesiredPresence::after(entry.metadata.change.as_ref()) {
            // Deletions count with any selection: the selection may have been wider when the resource was fetched.
            DesiredPresence::Absent => DesiredPresence::Absent,
            _ if !self.policy.selection.wants(entry) => DesiredPresence::Excluded,
            presence => presence,
        };
        if matches!(presence, DesiredPresence::Present | DesiredPresence::Unclear) {
            self.note_links(speaker, entry)?;
        }
        self.met.record |= self.may_be_record(entry);
        let alternate = self.preferred(speaker, entry).filter(|_| presence == DesiredPresence::Present);
        let mut desired = alternate.unwrap_or_else(|| Desired::of_entry(entry, presence));
        (desired.metadata.datetime, desired.ordinal) = (place.time, place.ordinal);
        Ok(Some(desired))
    }

    /// Returns `true` if resources may be selected by the content of an entry's resource. A resource that no record
    /// describes is never selected, so a resource without one is either a record or irrelevant.
    fn may_be_record(&self, entry: &Entry) -> bool {
        self.policy.condition.is_some() && entry.link_for(&Relation::DescribedBy).is_none()
    }

    /// Decides about a part of changes, and about the targets of their links that the part does not name itself.
    fn merge_changes(
        &mut self,
        mut part: Vec<Desired>,
        linked: Vec<Desired>,
        links: LinksNamed,
    ) -> Result<(), Error> {
        self.account.superseded += fold(&mut part);
        let linked = self.unlisted(&part, linked)?;
        self.merge_within_limit(part, links)?;
        if linked.is_empty() {
            return Ok(());
        }
        // A link says nothing about the links of its target.
        self.merge(linked, LinksNamed::Some, PartSource::Changes, None)
    }
}
