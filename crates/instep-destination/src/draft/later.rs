//! Resources that changed after the moment whose state is wanted (`--as-of`): their own URIs have a later state.

use resourcesync::DateTime;

use super::Draft;
use crate::{
    Error, ProblemKind,
    plan::{Desired, Retrieval},
    state::{Action, ActionKind, Actions},
};

impl Draft {
    /// Returns the latest time that counts: that of the clocks, or the moment whose state is wanted. A copy may hold what
    /// changed after that moment, which says nothing about the state that is wanted (O1010).
    pub(super) fn latest_time(&self) -> DateTime {
        let latest = self.clocks.latest_time();
        match self.policy.as_of {
            Some(as_of) if as_of.end() <= latest.instant() => last_moment_of(as_of),
            _ => latest,
        }
    }

    /// Records from now on which resources changed after the requested time.
    pub(crate) fn watch_later_changes(&mut self, later: Actions) {
        self.beside.later = Some(later);
    }

    /// Takes note of a change after the requested time. What it leads to is of no interest.
    pub(super) fn note_later(&mut self, desired: Desired) -> Result<(), Error> {
        let Some(later) = &mut self.beside.later else { return Ok(()) };
        if later.for_uri(desired.uri.as_str())?.is_none() {
            later.push(&Action::new(ActionKind::Note, desired))?;
        }
        Ok(())
    }

    /// Keeps resources that changed later from being fetched in their present state, unless a digest tells the two apart
    /// (O151): they are taken from the place that has former states, or left out.
    pub(crate) fn refuse_unproven(&mut self) -> Result<(), Error> {
        let Some(later) = self.beside.later.take() else { return Ok(()) };
        let mut after = 0;
        loop {
            let page = later.after(after, Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            for Action { desired, .. } in page {
                self.refuse_if_unproven(desired.uri.as_str())?;
            }
        }
    }

    fn refuse_if_unproven(&mut self, uri: &str) -> Result<(), Error> {
        let Some(Action { kind, mut desired, .. }) = self.actions.for_uri(uri)? else { return Ok(()) };
        let is_fetched = matches!(kind, ActionKind::Create | ActionKind::Update | ActionKind::Check);
        if !is_fetched || desired.metadata.digests.strongest().is_some() {
            return Ok(());
        }
        self.account.supersede(self.actions.remove(uri)?);
        let Some(place) = desired.retrieval().place_of_past().cloned() else {
            self.problems.problem(ProblemKind::Missing, uri, Self::NO_FORMER_STATE.to_owned());
            return Ok(());
        };
        // Its own URI and its mirrors answer with the present state, not with the former one.
        let retrieval = desired.retrieval().clone();
        desired.set_retrieval(Retrieval { lies_at: Some(place), mirrors: Vec::new(), ..retrieval });
        self.want(kind, desired)
    }
}

/// Returns the last moment of a time, such as the end of a day.
fn last_moment_of(time: DateTime) -> DateTime {
    let (seconds, nanos) = time.end();
    let end = seconds.saturating_mul(1_000_000).saturating_add(i64::from(nanos / 1_000));
    let last = DateTime::from_unix_micros(end.saturating_sub(1));
    // Of a time that is more exact than that, all of it counts.
    if last.instant() < time.instant() { time } else { last }
}

#[cfg(test)]
mod tests {
    use resourcesync::DateTime;

    use super::last_moment_of;

    #[test]
    fn the_last_moment_of_a_time_is_in_it() {
        for (time, last) in [
            ("2026-01-02", "2026-01-02T23:59:59.999999Z"),
            ("2026-01-02T10:00:05Z", "2026-01-02T10:00:05.999999Z"),
            ("2026-01-02T10:00:05.000000007Z", "2026-01-02T10:00:05.000000007Z"),
        ] {
            let [time, last] = [time, last].map(|text| text.parse::<DateTime>().unwrap());
            assert_eq!(last_moment_of(time).instant(), last.instant(), "{time}");
        }
    }
}
