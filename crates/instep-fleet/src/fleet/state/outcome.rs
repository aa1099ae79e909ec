//! The end of a look: what it showed is written down, and decides when the next one is.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use super::{BETWEEN_PUSHED, FleetState};
use crate::{
    Alert, AlertKind, FleetError, LookSample,
    alert::due,
    fleet::look::LookOutcome,
    name::SourceName,
    schedule::LookVerdict,
    standing::{FleetSource, SourceStanding},
};

impl FleetState {
    /// Writes down how a look ended, and when the next one is. `None` if the Source was forgotten meanwhile.
    pub(in crate::fleet) fn finish(
        &mut self,
        name: &SourceName,
        outcome: LookOutcome,
        now: i64,
    ) -> Result<Option<FleetSource>, FleetError> {
        self.queue.done(name);
        self.looks.remove(name);
        let Some(source) = self.sources.get(name) else { return Ok(None) };
        let mut source = FleetSource::clone(source);
        source.running = None;
        self.note(&mut source, &outcome, now);
        let standing = &mut source.standing;
        if let Some(kind) = due(standing, self.options.alert_after) {
            standing.alerted = (kind != AlertKind::Recovered).then(|| kind.as_str().to_owned());
            self.record.keep_alert(&Alert {
                source: name.clone(),
                url: source.definition.url.clone(),
                kind,
                text: standing.summary.clone(),
                at: now,
            })?;
        }
        if self.pushed.remove(name) && source.standing.failures == 0 {
            source.standing.due = now.saturating_add(BETWEEN_PUSHED);
        }
        self.record.write(name, &source.standing)?;
        if let Some(survey) = &outcome.survey {
            let mut known = self.record.survey(name)?.unwrap_or_default();
            known.add(survey.clone());
            self.record.keep_survey(name, &known)?;
        }
        if outcome.verdict.is_some() {
            self.record.add_look(name, &sample(&source.standing, &outcome, now))?;
        }
        self.sources.insert(Arc::new(source.clone()));
        self.enqueue(name);
        Ok(Some(source))
    }

    /// Adds the outcome of a look to what is known of its Source.
    fn note(&mut self, source: &mut FleetSource, outcome: &LookOutcome, now: i64) {
        let standing = &mut source.standing;
        standing.ended = Some(now);
        standing.exit_code = Some(outcome.exit_code);
        standing.summary.clone_from(&outcome.summary);
        standing.sized = outcome.sized.or(standing.sized);
        if let Some(verdict) = outcome.verdict {
            let seed = (&source.definition.name, now);
            let pacing = standing.pacing().after(
                verdict,
                &source.definition.cadence,
                &self.options.pacing,
                (now, hash(&seed)),
            );
            standing.pace(pacing);
            if !matches!(verdict, LookVerdict::Failed | LookVerdict::Blocked) {
                standing.pending = outcome.pending;
                standing.checkpoint = outcome.checkpoint.or(standing.checkpoint);
                // A first copy that a limit cut short is still a first copy.
                if verdict != LookVerdict::More {
                    standing.success = Some(now);
                }
            }
        }
        if let Some((held, bytes)) = outcome.holds {
            self.figures.bytes = self.figures.bytes.saturating_sub(standing.bytes) + bytes;
            (standing.held, standing.bytes) = (held, bytes);
        }
        *self.figures.looks.entry(outcome.exit_code).or_default() += 1;
        self.figures.changed += outcome.changed;
        self.figures.transferred += outcome.transferred;
    }
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
