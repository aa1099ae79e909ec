//! The Sources of the fleet as the record has them: at the start, after a reload, and when a command has written.

use std::{collections::BTreeSet, sync::Arc};

use super::{FleetState, client};
use crate::{
    FleetError, definition::SourceDefinition, name::SourceName, options::FleetOptions, standing::FleetSource,
};

impl FleetState {
    /// Makes the configuration file's Sources those of the fleet.
    pub(in crate::fleet) fn configure(
        &mut self,
        configured: &[SourceDefinition],
        now: i64,
    ) -> Result<(), FleetError> {
        self.record.configure(configured, now)?;
        self.load()
    }

    pub(in crate::fleet) fn reload(
        &mut self,
        options: FleetOptions,
        configured: &[SourceDefinition],
        now: i64,
    ) -> Result<(), FleetError> {
        let client = client(&options)?;
        self.configure(configured, now)?;
        self.queue.limit(options.runs, options.runs_per_host);
        (self.client, self.options) = (client, options);
        Ok(())
    }

    /// Takes up what commands have written since the last call. Returns `true` if there was something.
    pub(in crate::fleet) fn take_up(&mut self) -> Result<bool, FleetError> {
        let version = self.record.version()?;
        if version == self.version {
            return Ok(false);
        }
        self.version = version;
        self.load()?;
        Ok(true)
    }

    /// Reads all Sources. Looks at those that are gone or paused are asked to end.
    pub(in crate::fleet) fn load(&mut self) -> Result<(), FleetError> {
        let stored = self.record.sources()?;
        let mut gone: BTreeSet<_> = self.sources.iter().map(|known| known.definition.name.clone()).collect();
        for source in stored {
            gone.remove(&source.definition.name);
            self.take_over(source);
        }
        gone.iter().for_each(|name| self.forget(name));
        self.keep_watches();
        self.figures.bytes = self.sources.iter().map(|source| source.standing.bytes).sum();
        Ok(())
    }

    /// Reads one Source, which an operator has changed, added or removed.
    pub(in crate::fleet) fn load_one(&mut self, name: &SourceName) -> Result<(), FleetError> {
        let before = self.sources.get(name).map_or(0, |known| known.standing.bytes);
        match self.record.source(name) {
            Ok(source) => self.take_over(source),
            Err(FleetError::Unknown { .. }) => self.forget(name),
            Err(error) => return Err(error),
        }
        self.keep_watches();
        let after = self.sources.get(name).map_or(0, |known| known.standing.bytes);
        self.figures.bytes = self.figures.bytes.saturating_sub(before) + after;
        Ok(())
    }

    /// Takes over a Source as the record has it.
    fn take_over(&mut self, mut source: FleetSource) {
        let name = source.definition.name.clone();
        let known = self.sources.get(&name);
        source.running = known.and_then(|known| known.running);
        let is_new = known.is_none_or(|known| **known != source);
        if source.standing.paused
            && let Some((ending, _)) = self.looks.get(&name)
        {
            ending.request();
        }
        if is_new {
            self.sources.insert(Arc::new(source));
            self.enqueue(&name);
        }
    }

    /// Forgets a Source that is in the record no longer.
    fn forget(&mut self, name: &SourceName) {
        self.sources.remove(name);
        self.queue.remove(name);
        if let Some((ending, _)) = self.looks.get(name) {
            ending.request();
        }
    }

    /// Ends the watches of Sources that are gone, paused, or defined otherwise than before.
    fn keep_watches(&mut self) {
        let sources = &self.sources;
        self.watches.retain(|name, watch| {
            let known = sources.get(name);
            let stays =
                known.is_some_and(|known| known.definition == watch.definition && !known.standing.paused);
            if !stays {
                watch.ending.request();
            }
            stays
        });
    }
}
