//! Resources that several parts of an inventory name: parts of a long list, lists of an index, or packages of a dump.

use super::Draft;
use crate::{
    Error, ProblemKind,
    plan::{Desired, is_other_time},
};

impl Draft {
    /// Leaves one action for each resource that several parts of the inventory name, as within one part: an entry takes
    /// precedence over the target of a link, and of unlike entries the last is tried, which is reported (O1013).
    pub(crate) fn settle_repeated(&mut self) -> Result<(), Error> {
        // Otherwise a later part has replaced the actions of earlier ones.
        if self.inventory.parts < 2 || self.may_hold_earlier {
            return Ok(());
        }
        let mut after = String::new();
        loop {
            let page = self.actions.repeated_after(&after, Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(last);
            for uri in page {
                self.go_on()?;
                self.settle_repeated_one(&uri)?;
            }
        }
    }

    fn settle_repeated_one(&mut self, uri: &str) -> Result<(), Error> {
        let mut actions = self.actions.all_for_uri(uri)?;
        if actions.iter().any(|action| action.desired.is_listed) {
            actions.retain(|action| action.desired.is_listed);
        }
        let Some(last) = actions.pop() else { return Ok(()) };
        if last.desired.is_listed && actions.iter().any(|action| are_unlike(&action.desired, &last.desired)) {
            self.problems.problem(ProblemKind::Entry, uri, Self::LISTED_UNLIKE);
        }
        let removed = self.actions.remove(uri)?;
        self.account.supersede(removed.saturating_sub(1));
        Ok(self.actions.push(&last)?)
    }
}

/// Returns `true` if two entries state different bytes. Equal digests are those of one state, and what only one of them states
/// says nothing: a site may list a page in several Sitemaps, and its time in one of them (O1122).
fn are_unlike(one: &Desired, other: &Desired) -> bool {
    let (one, other) = (&one.metadata, &other.metadata);
    if let Some(agree) = one.digests.agrees_with(&other.digests) {
        return !agree;
    }
    let has_other_length = one.length.zip(other.length).is_some_and(|(one, other)| one != other);
    has_other_length
        || is_other_time(one.lastmod, other.lastmod)
        || is_other_time(one.datetime, other.datetime)
}

#[cfg(test)]
mod tests {
    use resourcesync::{DateTime, Digests, Uri};

    use super::are_unlike;
    use crate::plan::Desired;

    const NEW: &str = "md5:22af645d1859cb5ca6da0c484f1f37ea";
    const OLD: &str = "md5:149603e6c03516362a8da23f624db945";

    fn entry(digest: &str, length: Option<u64>, lastmod: &str) -> Desired {
        let mut desired = Desired::new(Uri::parse("http://example.com/a").unwrap());
        desired.metadata.digests = Digests::parse(digest, |error| panic!("{error}"));
        desired.metadata.length = length;
        desired.metadata.lastmod = DateTime::parse(lastmod).ok();
        desired
    }

    #[test]
    fn o1122_entries_of_several_parts_are_unlike_only_by_what_both_of_them_state() {
        let day = |day: &str| entry("", None, day);
        for (one, other, is_unlike) in [
            (entry(OLD, None, ""), entry(NEW, None, ""), true),
            (entry(NEW, None, "2026-01-01"), entry(NEW, Some(3), "2026-01-02"), false),
            (entry("", Some(2), ""), entry("", Some(3), ""), true),
            (day("2026-01-01"), day("2026-01-02"), true),
            (day("2026-01-01"), day("2026-01-01T10:00:00Z"), false),
            (day("2026-01-01"), entry(NEW, Some(3), ""), false),
        ] {
            assert_eq!(are_unlike(&one, &other), is_unlike, "{one:?} {other:?}");
        }
    }
}
