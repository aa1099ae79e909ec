//! The end of a look: its result is recorded, and determines the time of the next one.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{BETWEEN_PUSHED, BETWEEN_PUSHED_FAILURES, FleetState};
use crate::{
    Alert, AlertKind, LookSample,
    alert::due,
    definition::SourceDefinition,
    fleet::look::LookOutcome,
    name::SourceName,
    record::LookEnding,
    schedule::{LookVerdict, Pacing},
    standing::{FleetSource, SourceHold, SourceStanding},
};

impl FleetState {
    /// Returns the record of a finished look, with the time of the next one. `None` if the Source was removed
    /// meanwhile.
    pub(in crate::fleet) fn conclude(
        &mut self,
        definition: &SourceDefinition,
        hold: SourceHold,
        outcome: &LookOutcome,
        now: i64,
    ) -> Option<LookEnding> {
        let name = &definition.name;
        let mut source = FleetSource::clone(self.sources.get(name)?);
        self.note(&mut source, outcome, now);
        let standing = &mut source.standing;
        let mut alert = None;
        if let Some(kind) = due(standing, self.options.alert_after) {
            standing.alerted = (kind != AlertKind::Recovered).then(|| kind.as_str().to_owned());
            alert = Some(Alert {
                source: name.clone(),
                url: source.definition.url.clone(),
                kind,
                text: standing.summary.clone(),
                at: now,
            });
        }
        if self.pushed.remove(name) {
            let standing = &mut source.standing;
            // As after an announcement that comes now.
            standing.due = match standing.failures {
                0 => now.saturating_add(BETWEEN_PUSHED),
                _ => standing.due.min(now.saturating_add(BETWEEN_PUSHED_FAILURES)),
            };
        }
        if source.definition != *definition {
            // The look used the former definition, so the next one is due at once.
            source.standing.due = source.standing.due.min(now);
        }
        let sample = outcome.verdict.is_some().then(|| sample(&source.standing, outcome, now));
        let survey = outcome.survey.clone();
        Some(LookEnding { name: name.clone(), hold, standing: source.standing, sample, alert, survey })
    }

    /// Returns a sentence for the operator if the place of the copies cannot be reached any more, or can be again: an outage is
    /// no failure of a Source, so that nothing else would say so.
    pub(in crate::fleet) fn outage_news(&mut self, outcome: &LookOutcome) -> Option<String> {
        match outcome.verdict {
            Some(LookVerdict::Outage) if self.figures.outage.is_none() => {
                self.figures.outage = Some(outcome.summary.clone());
                Some(format!(
                    "Runs cannot use the place of their copies, and are tried again: {}",
                    outcome.summary
                ))
            }
            // The others show nothing about it.
            Some(LookVerdict::Changed | LookVerdict::Unchanged | LookVerdict::Behind | LookVerdict::More)
                if self.figures.outage.is_some() =>
            {
                self.figures.outage = None;
                Some("Runs can use the place of their copies again".to_owned())
            }
            _ => None,
        }
    }

    /// Ends a look whose end is written down. `source` is the Source as it is then, unless it is no longer this worker's.
    pub(in crate::fleet) fn ended(&mut self, name: &SourceName, source: Option<FleetSource>) {
        self.queue.done(name);
        self.looks.remove(name);
        match source {
            Some(source) => self.take(source),
            None => self.enqueue(name),
        }
    }

    /// Keeps the result of a look that could not be recorded.
    pub(in crate::fleet) fn leave_unwritten(&mut self, ending: LookEnding) {
        self.unwritten.push(ending);
    }

    /// Takes out the results of looks that could not be recorded.
    pub(in crate::fleet) fn take_unwritten(&mut self) -> Vec<LookEnding> {
        std::mem::take(&mut self.unwritten)
    }

    /// Puts results back that were not tried, before those that were: one that always fails does not keep others back.
    pub(in crate::fleet) fn put_back_unwritten(&mut self, others: impl Iterator<Item = LookEnding>) {
        let tried = self.take_unwritten();
        self.unwritten = others.chain(tried).collect();
    }

    /// Remembers the fault for which the record cannot be used; `None` if it can be.
    pub(in crate::fleet) fn set_record_fault(&mut self, fault: Option<String>) {
        self.figures.record_fault = fault;
    }

    /// Remembers a Source whose look has ended without a record of it.
    pub(in crate::fleet) fn leave_unrecorded(&mut self, name: SourceName, hold: SourceHold) {
        self.unrecorded.push((name, hold));
    }

    /// Takes out the Sources whose looks have ended without a record of it.
    pub(in crate::fleet) fn take_unrecorded(&mut self) -> Vec<(SourceName, SourceHold)> {
        std::mem::take(&mut self.unrecorded)
    }

    /// Adds the result of a look to the standing of its Source.
    fn note(&mut self, source: &mut FleetSource, outcome: &LookOutcome, now: i64) {
        let standing = &mut source.standing;
        let was_ours = standing.exit_code.is_some_and(is_fault_of_this_side);
        standing.ended = Some(now);
        // An outage shows nothing about a Source that is failing: its failures keep their cause, by which the next one counts.
        if outcome.verdict != Some(LookVerdict::Outage) || standing.failures == 0 {
            (standing.exit_code, standing.in_step) = (Some(outcome.exit_code), outcome.in_step);
            standing.cause = outcome.cause;
            standing.summary.clone_from(&outcome.summary);
        }
        standing.sized = outcome.sized.or(standing.sized);
        if let Some(verdict) = outcome.verdict {
            let verdict = match verdict {
                LookVerdict::Changed | LookVerdict::Unchanged if outcome.pending > standing.pending => {
                    LookVerdict::Behind
                }
                verdict => verdict,
            };
            let seed = (&source.definition.name, now);
            let before = match verdict {
                // The last look failed by a fault on this side, which does not count as a failure of the Source.
                LookVerdict::Failed if was_ours => Pacing { failures: 0, ..standing.pacing() },
                _ => standing.pacing(),
            };
            let pacing =
                before.after(verdict, &source.definition.cadence, &self.options.pacing, (now, hash(&seed)));
            standing.pace(pacing);
            if !matches!(verdict, LookVerdict::Failed | LookVerdict::Blocked | LookVerdict::Outage) {
                standing.pending = outcome.pending;
                standing.checkpoint = outcome.checkpoint.or(standing.checkpoint);
                // After a look that a limit ended the first copy is still incomplete.
                if verdict != LookVerdict::More {
                    standing.success = Some(now);
                }
            }
        } else {
            if outcome.has_measured() {
                // The Source works, and waits for an operator: nothing else would end its failures.
                (standing.failures, standing.quarantined) = (0, false);
            }
            // If it was interrupted, it is due since the look began, also if only an operator requested that.
            standing.due = standing.due.min(standing.began.unwrap_or(standing.due));
        }
        if let Some(size) = outcome.holds {
            self.figures.bytes = self.figures.bytes.saturating_sub(standing.bytes) + size.bytes;
            (standing.held, standing.bytes) = (size.resources, size.bytes);
        }
        *self.figures.looks.entry(outcome.exit_code).or_default() += 1;
        self.figures.changed += outcome.changed;
        self.figures.transferred += outcome.transferred;
    }
}

/// Returns `true` for the exit code of a look that something on this side ended: the configuration, a lock, the storage, the
/// state.
fn is_fault_of_this_side(exit_code: u8) -> bool {
    use instep_destination::exit_code::{LOCKED, NEWER_STATE, STORAGE, USAGE};
    matches!(exit_code, USAGE | LOCKED | STORAGE | NEWER_STATE)
}

fn sample(standing: &SourceStanding, outcome: &LookOutcome, now: i64) -> LookSample {
    LookSample {
        at: now,
        exit_code: outcome.exit_code,
        lag: standing.lag(now),
        held: standing.held,
        bytes: standing.bytes,
        pending: standing.pending,
        changed: outcome.changed,
        transferred: outcome.transferred,
    }
}

fn hash(seed: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use instep_destination::CopySize;
    use instep_net::RequestGate;
    use tokio::time::Instant;

    use super::*;
    use crate::{
        FleetOptions, FleetPlace, SourceState,
        record::{FleetRecord, ReadSources},
    };

    /// Returns the state of a fleet with one Source.
    fn with_one_source() -> (FleetState, SourceDefinition) {
        let dir = tempfile::tempdir().unwrap();
        let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
        let definition = SourceDefinition::new("a".parse().unwrap(), "https://a.example/");
        record.add(std::slice::from_ref(&definition), 1_000).unwrap();
        let gate = RequestGate::open_until(Instant::now());
        let mut state = FleetState::new(FleetOptions::new(dir.path()), gate, None).unwrap();
        state.load(ReadSources::all(record.sources().unwrap()));
        (state, definition)
    }

    #[tokio::test]
    async fn o978_an_outage_between_the_failures_of_a_source_does_not_end_their_row() {
        let (mut state, definition) = with_one_source();
        let mut look = |verdict, exit_code| {
            let source = FleetSource::clone(state.sources.get(&definition.name).unwrap());
            let outcome = LookOutcome { verdict: Some(verdict), exit_code, ..LookOutcome::default() };
            let standing = state.conclude(&definition, source.hold, &outcome, 2_000).unwrap().standing;
            let ended = (standing.failures, standing.exit_code);
            state.sources.insert(Arc::new(FleetSource { standing, ..source }));
            ended
        };
        assert_eq!(look(LookVerdict::Failed, 4), (1, Some(4)));
        assert_eq!(look(LookVerdict::Failed, 4), (2, Some(4)));
        assert_eq!(look(LookVerdict::Outage, 8), (2, Some(4)));
        assert_eq!(look(LookVerdict::Failed, 4), (3, Some(4)));
        // A full disk is no failure of the Source, and counts only as one of this side.
        assert_eq!(look(LookVerdict::Blocked, 8), (4, Some(8)));
        assert_eq!(look(LookVerdict::Failed, 4), (1, Some(4)));
        assert_eq!(look(LookVerdict::Unchanged, 0), (0, Some(0)));
        assert_eq!(look(LookVerdict::Outage, 8), (0, Some(8)));
    }

    #[tokio::test]
    async fn o746_a_source_that_failed_before_it_was_measured_waits_for_approval() {
        let (mut state, definition) = with_one_source();
        let mut look = |outcome: LookOutcome| {
            let source = FleetSource::clone(state.sources.get(&definition.name).unwrap());
            let ending = state.conclude(&definition, source.hold, &outcome, 2_000).unwrap();
            let standing = ending.standing;
            let is = (standing.state(true, 2_000), standing.failures, ending.alert.map(|alert| alert.kind));
            state.sources.insert(Arc::new(FleetSource { standing, ..source }));
            is
        };
        let failed =
            || LookOutcome { verdict: Some(LookVerdict::Failed), exit_code: 4, ..LookOutcome::default() };
        assert_eq!(look(failed()), (SourceState::Failing, 1, None));
        assert_eq!(look(failed()), (SourceState::Failing, 2, None));
        assert_eq!(look(failed()), (SourceState::Failing, 3, Some(AlertKind::Failing)));
        let measured = LookOutcome { sized: Some(CopySize::new(3, 9)), ..LookOutcome::default() };
        assert_eq!(look(measured), (SourceState::Waiting, 0, Some(AlertKind::Recovered)));
    }

    #[tokio::test]
    async fn o900_an_announcement_during_a_look_that_fails_counts_as_one_after_it() {
        let (mut state, definition) = with_one_source();
        let hold = state.sources.get(&definition.name).unwrap().hold;
        let failed =
            LookOutcome { verdict: Some(LookVerdict::Failed), exit_code: 4, ..LookOutcome::default() };
        let due =
            |state: &mut FleetState| state.conclude(&definition, hold, &failed, 2_000).unwrap().standing.due;
        assert!(due(&mut state) >= 2_000 + 15 * 60);
        state.pushed.insert(definition.name.clone());
        assert_eq!(due(&mut state), 2_000 + BETWEEN_PUSHED_FAILURES);
    }

    #[tokio::test]
    async fn o748_an_outage_of_the_place_of_the_copies_is_among_the_figures_until_it_is_over() {
        let options = FleetOptions::new("fleet");
        let mut state = FleetState::new(options, RequestGate::open_until(Instant::now()), None).unwrap();
        let mut outage_after = |verdict| {
            let summary = "the bucket is away".to_owned();
            state.outage_news(&LookOutcome { verdict: Some(verdict), summary, ..LookOutcome::default() });
            state.figures().outage
        };
        assert_eq!(outage_after(LookVerdict::Unchanged), None);
        assert_eq!(outage_after(LookVerdict::Outage).as_deref(), Some("the bucket is away"));
        assert!(outage_after(LookVerdict::Failed).is_some(), "it shows nothing about the place");
        assert_eq!(outage_after(LookVerdict::Changed), None);
    }

    #[tokio::test]
    async fn o717_an_outage_of_the_place_of_the_copies_is_said_once_and_so_is_its_end() {
        let options = FleetOptions::new("fleet");
        let mut state = FleetState::new(options, RequestGate::open_until(Instant::now()), None).unwrap();
        let mut news = |verdict| {
            let summary = "the bucket is away".to_owned();
            state.outage_news(&LookOutcome { verdict: Some(verdict), summary, ..LookOutcome::default() })
        };
        assert_eq!(news(LookVerdict::Unchanged), None);
        assert!(news(LookVerdict::Outage).unwrap().ends_with(": the bucket is away"));
        assert_eq!([LookVerdict::Outage, LookVerdict::Failed].map(&mut news), [None, None]);
        assert!(news(LookVerdict::Changed).unwrap().ends_with("again"));
        assert_eq!(news(LookVerdict::Changed), None);
    }
}
