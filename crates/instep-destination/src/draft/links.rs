//! Links of entries: versions that they lead to, and representations that the operator prefers.

use instep_net::Origin;
use resourcesync::{Entry, Link, MediaType, Relation};

use super::Draft;
use crate::{
    Error,
    map::climbs,
    plan::{Desired, DesiredPresence},
    state::{Action, ActionKind, Actions, RowSet},
    versions::linked,
};

impl Draft {
    /// Counts the resources named in the inventories before this one as named here too.
    pub(crate) fn go_on_from(&mut self, named: RowSet) {
        self.named = named;
    }

    /// Takes the resources that the inventory named.
    pub(crate) fn take_named(&mut self) -> RowSet {
        std::mem::take(&mut self.named)
    }

    /// Records the targets of links to versions from now on.
    pub(crate) fn note_versions(&mut self, versions: Actions) {
        self.beside.versions = Some(versions);
    }

    /// Returns the next targets of links to versions.
    pub(crate) fn linked_versions(&self, after: i64, most: usize) -> Result<Vec<Action>, Error> {
        self.beside.versions.as_ref().map_or(Ok(Vec::new()), |versions| Ok(versions.after(after, most)?))
    }

    /// Adds the targets of links to versions of an earlier plan.
    pub(crate) fn take_over_links(&mut self, earlier: &Self) -> Result<(), Error> {
        let Some(versions) = &mut self.beside.versions else { return Ok(()) };
        let mut after = 0;
        loop {
            let page = earlier.linked_versions(after, Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            for action in page {
                versions.push(&Action::new(ActionKind::Create, action.desired))?;
            }
        }
    }

    /// Returns `true` if an entry is within scope and selected.
    pub(crate) fn selects(&self, speaker: Option<&Origin>, entry: &Entry) -> bool {
        let uri = entry.loc.as_str();
        let in_scope = speaker.is_none_or(|speaker| self.policy.scope.check(speaker, uri).is_ok());
        in_scope && !climbs(&entry.loc) && self.policy.selection.wants(entry)
    }

    /// Records the targets of an entry's links to versions, if versions are kept. Those out of scope are only counted (D22).
    pub(super) fn note_links(&mut self, speaker: Option<&Origin>, entry: &Entry) -> Result<(), Error> {
        let Some(versions) = &mut self.beside.versions else { return Ok(()) };
        for desired in linked(entry) {
            let retrieval = desired.retrieval();
            let target =
                [&retrieval.lies_at, &retrieval.timemap, &retrieval.timegate].into_iter().flatten().next();
            let Some(target) = target else { continue };
            if speaker.is_some_and(|speaker| self.policy.scope.check(speaker, target).is_err()) {
                self.inventory.versions_elsewhere += 1;
            } else {
                versions.push(&Action::new(ActionKind::Create, desired))?;
            }
        }
        Ok(())
    }

    /// Adds the targets of links that are wanted too to those of a part, as of the change that names them. Returns their
    /// number (O660).
    pub(super) fn add_linked_after(
        &mut self,
        linked: &mut Vec<Desired>,
        speaker: Option<&Origin>,
        entry: &Entry,
        change: &Desired,
    ) -> usize {
        if !matches!(change.presence, DesiredPresence::Present | DesiredPresence::Unclear) {
            return 0;
        }
        let before = linked.len();
        self.add_linked(linked, speaker, entry);
        for target in &mut linked[before..] {
            target.metadata.datetime = change.metadata.datetime;
            (target.ordinal, target.is_undated) = (change.ordinal, change.is_undated);
        }
        self.account.read += (linked.len() - before) as u64;
        linked.len() - before
    }

    /// Returns the targets of links, each once, that neither a part nor the plan has: an entry about the resource itself
    /// takes precedence. The part is in the order of the URIs.
    pub(super) fn unlisted(
        &mut self,
        part: &[Desired],
        mut linked: Vec<Desired>,
    ) -> Result<Vec<Desired>, Error> {
        let all = linked.len();
        linked.sort_by(|a, b| a.uri.cmp(&b.uri));
        linked.dedup_by(|a, b| a.uri == b.uri);
        let mut unlisted = Vec::new();
        for target in linked {
            let is_listed = part.binary_search_by(|listed| listed.uri.cmp(&target.uri)).is_ok();
            if !is_listed && self.actions.for_uri(target.uri.as_str())?.is_none() {
                unlisted.push(target);
            }
        }
        self.account.superseded += (all - unlisted.len()) as u64;
        Ok(unlisted)
    }

    /// Returns the representation that the operator's order of media types puts before an entry's own (§14.3).
    pub(super) fn preferred(&self, speaker: Option<&Origin>, entry: &Entry) -> Option<Desired> {
        if self.policy.prefer_types.is_empty() {
            return None;
        }
        let rank = |media_type: Option<&MediaType>| {
            let essence = media_type?.essence();
            self.policy.prefer_types.iter().position(|wanted| wanted.eq_ignore_ascii_case(essence))
        };
        let in_scope = |link: &&Link| {
            speaker.is_none_or(|speaker| self.policy.scope.check(speaker, link.href.as_str()).is_ok())
        };
        let alternates = entry.links_for(&Relation::Alternate).filter(in_scope);
        let best = alternates.filter_map(|link| Some((rank(link.media_type.as_ref())?, link)));
        let (rank_of_best, link) = best.min_by_key(|(rank, _)| *rank)?;
        let own = rank(entry.metadata.media_type.as_ref());
        own.is_none_or(|own| rank_of_best < own).then(|| Desired::of_link(link))
    }
}
