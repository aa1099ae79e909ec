//! Inventories: each entry of a Resource List, or of the manifest of a dump, is a resource that exists.

use instep_net::{Origin, OriginError, Refusal};
use resourcesync::{DateTime, Entry, Finding, Severity};

use super::{Draft, merging::PartSource};
use crate::{
    Error, LastmodTrust, ProblemKind,
    clock::latest_time,
    documents::{Document, DocumentEnd, read_ahead},
    plan::{Desired, DesiredPresence, LinksNamed, deciding_time, plausible},
    state::ResourceMetadata,
};

/// The times that an inventory states.
#[derive(Clone, Copy)]
struct InventoryTime {
    at: Option<DateTime>,
    /// Times later than this are no times.
    latest: Option<DateTime>,
    /// `true` if there may be changes to compare its entries with.
    meets_changes: bool,
}

impl InventoryTime {
    /// Returns the time of the state that an entry lists. If the inventory has no time, the last modification shows
    /// if a listed change came before or after it. Without changes it is not used: a later inventory may list an older
    /// one, because a file may be replaced by an older file and a clock may go back (O34).
    fn of(self, metadata: &ResourceMetadata) -> Option<DateTime> {
        let datetime = plausible(metadata.datetime, self.latest);
        if self.at.is_some() || !self.meets_changes {
            return datetime;
        }
        datetime.or(plausible(metadata.lastmod, self.latest))
    }
}

/// Desired states of a stretch of entries.
#[derive(Default)]
struct Part {
    selected: Vec<Desired>,
    /// Targets of their links.
    linked: Vec<Desired>,
    /// Resources that exist and are not selected.
    excluded: Vec<Desired>,
    /// The memory that all of them take, in resources of usual size.
    weight: usize,
    /// The number of selected resources when repeated ones were last removed.
    distinct: usize,
}

impl Part {
    fn len(&self) -> usize {
        self.selected.len() + self.linked.len() + self.excluded.len()
    }
}

impl Draft {
    pub(super) const LISTED_UNLIKE: &str = "it is listed twice, with unlike metadata";

    /// Plans the content of a Resource List (§10.1). None of it stays in the plan unless all of it could be read
    /// (D16).
    pub(crate) fn read_list(
        &mut self,
        document: &Document,
        stated: Option<DateTime>,
        was_applied: bool,
    ) -> Result<(), Error> {
        if self.may_hold_earlier {
            // Read twice: what the entries replace in the plan, such as a pending retry, could not be put back (O455).
            let (mut entries, mut entry) = (document.read()?, Entry::default());
            while entries.read_entry(&mut entry).map_err(|error| document.unreadable(error))? {
                self.go_on()?;
            }
        }
        let before = (self.actions.last()?, self.account, self.inventory, self.actions.last_note()?);
        match self.read_parts(document, stated, was_applied) {
            Err(error @ Error::InvalidDocument { .. }) => {
                let (last, account, inventory, note) = before;
                self.actions.forget_after(last)?;
                (self.account, self.inventory) = (account, inventory);
                self.actions.forget_notes_after(note)?;
                Err(error)
            }
            other => other,
        }
    }

    fn read_parts(
        &mut self,
        document: &Document,
        stated: Option<DateTime>,
        was_applied: bool,
    ) -> Result<(), Error> {
        let speaker = document.origin();
        let latest = Some(latest_time(document.date));
        let at = plausible(document.header.metadata.as_ref().and_then(|root| root.at).or(stated), latest);
        let at = deciding_time(at, was_applied);
        self.inventory.was_applied = was_applied;
        let time = InventoryTime { at, latest, meets_changes: !self.history.has_no_changes };
        let is_plain = document.header.metadata.is_none();
        let mut part = Part::default();
        let mut usable = 0;
        let DocumentEnd { mut entries, fault } = read_ahead(document.read()?, |entry| {
            self.go_on()?;
            usable += 1;
            self.account.read += 1;
            if !self.in_scope(speaker.as_ref(), &entry.loc) {
                self.account.unusable += 1;
                self.inventory.unusable += 1;
                return Ok(());
            }
            self.inventory.usable += 1;
            self.inventory.plain += u64::from(is_plain);
            if self.policy.lastmod == LastmodTrust::Ask {
                entry.lastmod = None;
            }
            self.add_entry(&mut part, speaker.as_ref(), entry, time)?;
            if part.weight >= Self::PART {
                self.merge_part(std::mem::take(&mut part), at, was_applied)?;
            }
            Ok::<_, Error>(())
        })?;
        if let Some(fault) = fault {
            return Err(document.unreadable(fault).into());
        }
        self.merge_part(part, at, was_applied)?;
        let unusable = entries.entries_read() - usable;
        self.inventory.unusable += unusable;
        self.report_unusable(document, entries.take_findings(), unusable);
        Ok(())
    }

    fn add_entry(
        &mut self,
        part: &mut Part,
        speaker: Option<&Origin>,
        entry: &Entry,
        time: InventoryTime,
    ) -> Result<(), Error> {
        let mut desired = Desired::of_entry(entry, DesiredPresence::Present);
        desired.metadata.datetime = time.of(&desired.metadata);
        desired.is_listed = true;
        self.inventory.newest = self.inventory.newest.max(desired.metadata.datetime);
        part.weight += desired.weight();
        let has_room = self.has_room(part);
        self.inventory.is_cut |= !has_room;
        if !has_room || !self.policy.selection.wants(entry) {
            // It stays in the part: the resource exists, so that its absence from the selection implies no deletion.
            desired.presence = DesiredPresence::Excluded;
            part.excluded.push(desired);
            return Ok(());
        }
        self.inventory.selected += 1;
        let is_described =
            entry.lastmod.or(entry.metadata.datetime).is_some() || !entry.metadata.hash.is_empty();
        self.inventory.has_silent |= !is_described;
        self.note_links(speaker, entry)?;
        let before = part.linked.len();
        self.add_linked(&mut part.linked, speaker, entry);
        self.add_media(&mut part.linked, speaker, entry);
        match self.preferred(speaker, entry) {
            Some(alternate) => {
                part.linked.push(alternate);
                desired.presence = DesiredPresence::Excluded;
                part.excluded.push(desired);
            }
            None => part.selected.push(desired),
        }
        let linked = part.linked.len() - before;
        part.weight += linked;
        self.account.read += linked as u64;
        Ok(())
    }

    /// Returns `true` if the operator's limit leaves room for another resource. One that is listed twice
    /// counts once.
    fn has_room(&mut self, part: &mut Part) -> bool {
        let Some(most) = self.policy.limit else { return true };
        if self.inventory.selected >= most && part.distinct < part.selected.len() {
            let before = part.selected.len();
            self.drop_repeated(&mut part.selected);
            part.distinct = part.selected.len();
            self.account.superseded += (before - part.distinct) as u64;
        }
        self.inventory.selected < most
    }

    /// Adds the linked resources of the entry that are also wanted: a description, a preview (§14.5, §14.6). One that is
    /// out of scope counts as an entry that cannot be used, because the operator wants it (O955). One that is never requested,
    /// such as a URN, is only counted: nothing would end the problem (O666).
    pub(super) fn add_linked(&mut self, linked: &mut Vec<Desired>, speaker: Option<&Origin>, entry: &Entry) {
        let Self { policy, problems, account, inventory, .. } = self;
        for link in entry.links.iter().filter(|link| policy.with_links.contains(&link.rel)) {
            match speaker.map(|speaker| policy.scope.check(speaker, link.href.as_str())) {
                Some(Err(Refusal::Uri(OriginError::Scheme { .. }))) => inventory.links_not_fetched += 1,
                Some(Err(refusal)) => {
                    account.read += 1;
                    account.unusable += 1;
                    problems.refused(link.href.as_str(), &refusal);
                }
                Some(Ok(())) | None => linked.push(Desired::of_link(link)),
            }
        }
    }

    /// Adds the images and videos of a page. They are selected like resources; those on other hosts are left to the
    /// operator, because a page may show media of others.
    fn add_media(&mut self, linked: &mut Vec<Desired>, speaker: Option<&Origin>, page: &Entry) {
        for uri in &page.media {
            if speaker.is_some_and(|speaker| self.policy.scope.check(speaker, uri.as_str()).is_err()) {
                self.inventory.media_elsewhere += 1;
            } else if self.policy.selection.wants_uri(uri.as_str()) {
                linked.push(Desired::of_entry(&Entry::new(uri.clone()), DesiredPresence::Present));
            }
        }
    }

    /// Decides about a part: an entry takes precedence over the target of a link, and that over a resource that is
    /// not selected.
    fn merge_part(&mut self, part: Part, at: Option<DateTime>, was_applied: bool) -> Result<(), Error> {
        self.inventory.parts += 1;
        let before = part.len();
        let Part { selected: mut desired, mut linked, mut excluded, .. } = part;
        self.drop_repeated(&mut desired);
        for others in [&mut linked, &mut excluded] {
            others.sort_by(|a, b| a.uri.cmp(&b.uri));
            others.dedup_by(|a, b| a.uri == b.uri);
            others.retain(|other| desired.binary_search_by(|listed| listed.uri.cmp(&other.uri)).is_err());
            if !others.is_empty() {
                desired.append(others);
                desired.sort_by(|a, b| a.uri.cmp(&b.uri));
            }
        }
        self.account.superseded += (before - desired.len()) as u64;
        self.merge(desired, LinksNamed::Some, PartSource::Inventory { at, was_applied }, None)
    }

    /// Leaves one entry for each resource: equal ones are one (D17); of unlike ones the last is tried, which is
    /// reported.
    fn drop_repeated(&mut self, part: &mut Vec<Desired>) {
        part.sort_by(|a, b| a.uri.cmp(&b.uri));
        let problems = &mut self.problems;
        let selected = &mut self.inventory.selected;
        part.dedup_by(|later, earlier| {
            if later.uri != earlier.uri {
                return false;
            }
            *selected -= 1;
            let uri = earlier.uri.as_str();
            if later.metadata == earlier.metadata {
                problems.warning(ProblemKind::Entry, uri, "it is listed twice");
            } else {
                problems.problem(ProblemKind::Entry, uri, Self::LISTED_UNLIKE);
                // The later one, as in a Change List. Both cannot be right, and nothing shows which one is.
                std::mem::swap(later, earlier);
            }
            true
        });
    }

    /// Reports entries without a usable `loc`; no other entry is affected (invariant 10).
    pub(super) fn report_unusable(&mut self, document: &Document, findings: Vec<Finding>, unusable: u64) {
        self.account.read += unusable;
        self.account.unusable += unusable;
        let uri = document.uri.as_str();
        let mut left = unusable;
        for finding in findings {
            let costs = left > 0 && is_about_loc(&finding);
            if costs {
                left -= 1;
                self.problems.unusable(ProblemKind::Entry, uri, finding.to_string());
            } else {
                self.problems.warning(ProblemKind::Entry, uri, finding.to_string());
            }
        }
        for _ in 0..left {
            self.problems.unusable(ProblemKind::Entry, uri, "an entry without a usable loc");
        }
    }
}

/// Returns `true` for a finding that may be the reason why an entry has no usable `loc`: also one whose element has
/// another name.
pub(super) fn is_about_loc(finding: &Finding) -> bool {
    matches!(finding.rule, "GEN-13" | "GEN-14") && finding.severity == Severity::Error
}
