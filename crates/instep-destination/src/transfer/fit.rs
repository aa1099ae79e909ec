//! The comparison of a package's members with the states that the plan wants.

use resourcesync::{Change, DateTime, Digests, Entry, Header, patch::PatchFormat, value::Precision};

use crate::{
    plan::{Currency, Fixity, currency, packed_difference},
    state::Action,
};

/// The way to compare the entries of a package's manifest with the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ManifestFit {
    /// The Source packs its present state on request. An entry is accepted unless it is known to be another state.
    Served,
    /// The inventory that the plan was made of, or a later one, with one state of each resource (§11). For a listed
    /// resource, an entry is accepted unless it is known to be another state. For a changed one its metadata must
    /// match, because the change may be later than the package (O38).
    Inventory,
    /// A snapshot that may be older than the documents of the plan. The metadata of an entry must match.
    Snapshot,
    /// Changes with several states of a resource. A digest or a time shows which one is wanted (§13).
    Changes,
    /// Changes whose bitstreams may be differences. A digest may be that of the difference, so the time decides (A16).
    Differences,
}

impl ManifestFit {
    /// Returns the fit for a manifest, once its header is known.
    pub(super) fn with_header(self, header: &Header) -> Self {
        let packs_differences = self == Self::Changes && header.dialect.packs_differences();
        if packs_differences { Self::Differences } else { self }
    }

    /// Returns the format of the difference that the bitstream of an entry is; `None` if it is the resource itself.
    pub(super) fn difference(self, entry: &Entry) -> Option<PatchFormat> {
        packed_difference(entry).filter(|_| self == Self::Differences)
    }

    /// Returns `true` if an entry of a manifest is the state that an action requires.
    pub(super) fn accepts(self, entry: &Entry, action: &Action) -> bool {
        let (packed, desired) = (&entry.metadata, &action.desired.metadata);
        let fixity = currency(Fixity::of_entry(entry), Fixity::of_metadata(desired));
        match self {
            Self::Served => return fixity != Currency::Stale,
            Self::Inventory if action.desired.is_listed => return fixity != Currency::Stale,
            Self::Inventory | Self::Snapshot => return fixity == Currency::Current,
            Self::Changes | Self::Differences => {}
        }
        if packed.change == Some(Change::Deleted) {
            return false;
        }
        if self.difference(entry).is_some() {
            return entry
                .lastmod
                .zip(action.desired.metadata.lastmod)
                .is_some_and(|(one, other)| one.instant() == other.instant());
        }
        // An entry without a time has that of the one before it, which may be another state of the same resource (O31).
        let wanted = desired.datetime.filter(|_| !action.desired.inherits_time);
        match (packed.hash.agrees_with(&desired.digests), packed.datetime, wanted) {
            (Some(same), ..) => same,
            // Several states may be of the same second, and then also have the same `lastmod` and length (O53).
            (None, Some(packed), Some(wanted)) if packed.instant() == wanted.instant() => {
                fixity != Currency::Stale && [packed, wanted].iter().all(is_of_one_state)
            }
            (None, Some(_), Some(_)) => false,
            // An entry of an inventory has no time of a change. Only `lastmod` could distinguish the states, and an
            // earlier state has the same one if the time of a file was set back (O284).
            _ => {
                !action.desired.is_listed
                    && fixity == Currency::Current
                    && [entry.lastmod, desired.lastmod].iter().flatten().all(is_of_one_state)
            }
        }
    }
}

/// Returns `true` if a time is precise enough to be that of a single state: several states may be of one second (O53).
fn is_of_one_state(time: &DateTime) -> bool {
    time.precision() > Precision::Second
}

/// Sets the expected metadata of an entry to that of the plan: the unpacked bytes must match it, regardless of the
/// manifest.
pub(super) fn promise(entry: &mut Entry, action: &Action) {
    let metadata = &action.desired.metadata;
    if metadata.digests != Digests::new() {
        entry.metadata.hash = metadata.digests.clone();
    }
    entry.metadata.length = metadata.length.or(entry.metadata.length);
}

#[cfg(test)]
mod tests {
    use resourcesync::{DateTime, Uri};

    use super::*;
    use crate::{
        plan::{Desired, DesiredPresence},
        state::ActionKind,
    };

    fn changed(lastmod: &str, datetime: Option<&str>) -> Entry {
        let time = |text| DateTime::parse(text).unwrap();
        let mut entry = Entry::new(Uri::parse("http://h/a").unwrap());
        entry.lastmod = Some(time(lastmod));
        (entry.metadata.change, entry.metadata.datetime) = (Some(Change::Updated), datetime.map(time));
        entry
    }

    #[test]
    fn o31_a_state_without_a_time_of_its_own_is_not_the_one_before_it() {
        let first = changed("2026-01-02T00:00:01.5Z", Some("2026-01-02T00:00:01.5Z"));
        let second = changed("2026-01-02T00:00:02.5Z", None);
        let mut desired = Desired::of_entry(&second, DesiredPresence::Present);
        // The plan gives it the time of the entry before it.
        (desired.metadata.datetime, desired.inherits_time) = (first.metadata.datetime, true);
        let wanted = Action::new(ActionKind::Update, desired);
        assert!(!ManifestFit::Changes.accepts(&first, &wanted));
        assert!(ManifestFit::Changes.accepts(&second, &wanted));
    }

    #[test]
    fn o31_states_that_nothing_tells_apart_are_not_taken_from_a_package() {
        let bare = |datetime: Option<&str>| {
            let mut entry = changed("2026-01-02", datetime);
            entry.lastmod = None;
            entry
        };
        let accepts = |packed: &Entry, wanted: &Entry| {
            let mut desired = Desired::of_entry(wanted, DesiredPresence::Present);
            desired.inherits_time = desired.metadata.datetime.is_none();
            desired.metadata.datetime = desired.metadata.datetime.or(packed.metadata.datetime);
            ManifestFit::Changes.accepts(packed, &Action::new(ActionKind::Update, desired))
        };
        let (exact, second) = (bare(Some("2026-01-02T00:00:01.5Z")), bare(Some("2026-01-02T00:00:01Z")));
        assert!(accepts(&exact, &exact), "a time with fractions is that of one change");
        assert!(!accepts(&second, &second), "two changes may have one second");
        assert!(!accepts(&exact, &bare(None)), "it may be the one before it");
    }

    #[test]
    fn o53_an_equal_second_and_lastmod_do_not_tell_two_states_apart() {
        let fits = |packed: &Entry, wanted: &Entry| {
            let desired = Desired::of_entry(wanted, DesiredPresence::Present);
            ManifestFit::Changes.accepts(packed, &Action::new(ActionKind::Update, desired))
        };
        let second = changed("2026-01-02T00:00:01Z", Some("2026-01-02T00:00:01Z"));
        assert!(!fits(&second, &second));
        let mut listed = second.clone();
        listed.metadata.datetime = None;
        assert!(!fits(&second, &listed), "nor do they for what an inventory lists");
        let (mut packed, mut wanted) = (second.clone(), second);
        packed.metadata.hash = Digests::parse(&format!("md5:{:032x}", 1), |_| {});
        wanted.metadata.hash = packed.metadata.hash.clone();
        assert!(fits(&packed, &wanted), "a digest does");
    }
}
