//! Sources as the record has them, taken over into memory.

use std::{collections::BTreeSet, sync::Arc};

use super::{FleetState, LookInProgress};
use crate::{
    name::SourceName,
    record::ReadSources,
    standing::{FleetSource, SourceHold},
};

/// The work that is left after changes of others were applied.
#[derive(Debug, Default)]
pub(in crate::fleet) struct TakenUp {
    /// The Sources that this worker holds without a look.
    pub(in crate::fleet) unknown: Vec<(SourceName, SourceHold)>,
    /// `true` if others have removed Sources, or added some that are not read yet: all are to be read.
    pub(in crate::fleet) differs: bool,
    /// `true` if a Source may have changed.
    pub(in crate::fleet) is_news: bool,
}

impl FleetState {
    /// Applies changes that others may have written since the last call.
    pub(in crate::fleet) fn take_up(&mut self, read: ReadSources) -> TakenUp {
        let (number, is_news) = (read.number, read.are_all || !read.sources.is_empty());
        if !is_news && number.is_none() {
            return TakenUp::default();
        }
        let unknown = self.load(read);
        let differs = number.is_some_and(|number| number != self.sources.len() as u64);
        TakenUp { unknown, differs, is_news }
    }

    /// Applies changes that others may have written. Ends the looks at removed or paused Sources. Returns the
    /// Sources that this worker holds without a look: the answer to a claim was lost.
    pub(in crate::fleet) fn load(&mut self, read: ReadSources) -> Vec<(SourceName, SourceHold)> {
        let mut unknown = Vec::new();
        if read.are_all {
            let there: BTreeSet<_> =
                read.sources.iter().map(|source| source.definition.name.clone()).collect();
            let gone: Vec<_> = self
                .sources
                .iter()
                .map(|known| known.definition.name.clone())
                .filter(|name| !there.contains(name))
                .collect();
            for name in gone {
                self.sources.remove(&name);
                self.queue.remove(&name);
                if let Some(look) = self.looks.get(&name) {
                    look.ending.request();
                }
            }
        }
        for source in read.sources {
            let (name, hold) = (source.definition.name.clone(), source.hold);
            if hold.worker == Some(self.me) && !self.looks.contains_key(&name) && self.is_newer(&name, hold) {
                unknown.push((name, hold));
            }
            self.take(source);
        }
        self.keep_watches();
        self.figures.bytes = self.sources.iter().map(|source| source.standing.bytes).sum();
        unknown
    }

    /// Returns `true` if a row is at least as new as the present knowledge of its Source.
    fn is_newer(&self, name: &SourceName, hold: SourceHold) -> bool {
        self.sources.get(name).is_none_or(|known| known.hold.changed <= hold.changed)
    }

    /// Takes over a Source as the record has it, unless it was read before something that is known already.
    pub(in crate::fleet) fn take(&mut self, mut source: FleetSource) {
        let name = source.definition.name.clone();
        // A row that is known already is older than an announcement that is about to be recorded.
        if self.sources.get(&name).is_some_and(|known| known.hold.changed >= source.hold.changed) {
            return;
        }
        if source.hold.worker.is_some() {
            // The worker that looks at it listens to it from then on.
            self.unheard.remove(&name);
        }
        let look = self.looks.get(&name);
        if look.is_some() {
            source.running = source.standing.began;
        }
        // A look is also ended if its Source was removed and added again: its results belong to the former Source.
        let is_over = |look: &&LookInProgress| source.standing.paused || !look.hold.is_same_look(source.hold);
        if let Some(look) = look.filter(is_over) {
            look.ending.request();
        }
        if self.sources.get(&name).is_none_or(|known| **known != source) {
            self.sources.insert(Arc::new(source));
            self.enqueue(&name);
        }
    }

    /// Ends the watches of Sources that are gone, paused, defined otherwise than before, or another worker's.
    fn keep_watches(&mut self) {
        let (sources, me) = (&self.sources, self.me);
        self.watches.retain(|name, watch| {
            let stays = sources.get(name).is_some_and(|known| {
                let is_ours = known.hold.worker.is_none_or(|worker| worker == me);
                known.definition == watch.definition && !known.standing.paused && is_ours
            });
            if !stays {
                watch.ending.request();
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use instep_net::RequestGate;
    use tokio::time::Instant;

    use super::*;
    use crate::{FleetOptions, FleetPlace, SourceDefinition, record::FleetRecord};

    #[tokio::test]
    async fn o724_an_announcement_that_is_about_to_be_recorded_outlasts_a_reading_of_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
        let name: SourceName = "a".parse().unwrap();
        record.add(&[SourceDefinition::new(name.clone(), "https://a.example/")], 1_000).unwrap();
        let gate = RequestGate::open_until(Instant::now());
        let mut state = FleetState::new(FleetOptions::new(dir.path()), gate, None).unwrap();
        let mut due = |announced: Option<i64>, record: &FleetRecord| {
            if let Some(now) = announced {
                assert_eq!(state.push(&name, now), Some(now));
            }
            state.load(ReadSources::all(record.sources().unwrap()));
            state.sources().get(&name).unwrap().standing.due
        };
        assert_eq!(due(None, &record), 1_000);
        assert_eq!(due(Some(10), &record), 10);
        record.hasten(&"a".parse().unwrap(), 9).unwrap();
        assert_eq!(due(None, &record), 9);
    }
}
