//! The actions of operators on a running fleet, and their view of it. Each action is written into the audit log.

use std::{collections::BTreeMap, sync::Arc};

use instep_destination::CopyLocation;

use super::{Fleet, FleetFigures, seconds, state::FleetState};
use crate::{
    FleetError, SourceOperation,
    definition::SourceDefinition,
    index::{SourcePage, SourceRequest},
    name::SourceName,
    record::{FleetRecord, ReadSources},
    standing::{FleetSource, SourceState},
};

impl Fleet {
    /// Carries out an operator's action; `who` is the operator's name for the audit log.
    ///
    /// # Errors
    /// If there is no such Source, the action does not fit its state, or the record cannot be written.
    pub async fn operate(
        &self,
        operation: SourceOperation,
        name: &SourceName,
        who: &str,
    ) -> Result<(), FleetError> {
        let (name, who) = (name.clone(), who.to_owned());
        self.change(move |record| record.operate(operation, &[name], (&who, seconds()))).await
    }

    /// Adds a Source.
    ///
    /// # Errors
    /// If it cannot be used, or its name or folder is taken.
    pub async fn add(&self, definition: &SourceDefinition, who: &str) -> Result<(), FleetError> {
        definition.expect_shared(self.state().options())?;
        let (definition, who) = (definition.clone(), who.to_owned());
        let add = move |record: &mut FleetRecord| {
            record.add_logged(std::slice::from_ref(&definition), (&who, "add"), seconds())
        };
        self.change(add).await
    }

    /// Changes the record, and applies its new state.
    async fn change(
        &self,
        change: impl FnOnce(&mut FleetRecord) -> Result<(), FleetError> + Send + 'static,
    ) -> Result<(), FleetError> {
        let change = move |record: &mut FleetRecord| {
            change(record)?;
            record.sources_after_change()
        };
        let fleet = self.clone();
        let apply = move |state: &mut FleetState, sources| {
            state.load(ReadSources::all(sources));
            fleet.news();
        };
        self.applied(change, apply).await
    }

    /// Writes something that an operator did, such as a login, into the audit log.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub async fn note_action(&self, who: &str, what: &str) -> Result<(), FleetError> {
        let (who, what) = (who.to_owned(), what.to_owned());
        self.recorded(move |record| record.note_action(seconds(), &who, &what, None)).await
    }

    /// Returns all Sources, by name, as they are now.
    pub fn sources(&self) -> Vec<Arc<FleetSource>> {
        self.state().sources().iter().map(Arc::clone).collect()
    }

    /// Returns a page of Sources as they are now.
    pub fn page(&self, request: &SourceRequest) -> SourcePage {
        self.state().sources_mut().page(request, seconds())
    }

    /// Returns the number of Sources in each state.
    pub fn states(&self) -> BTreeMap<SourceState, usize> {
        self.state().sources_mut().states(seconds())
    }

    /// Returns one Source; `None` if there is none with this name.
    pub fn source(&self, name: &SourceName) -> Option<Arc<FleetSource>> {
        self.state().sources().get(name).map(Arc::clone)
    }

    /// Returns the place of a Source's copy.
    pub fn copy(&self, source: &FleetSource) -> CopyLocation {
        source.definition.copy(&self.state().options().place())
    }

    /// Returns the figures of the fleet.
    pub fn figures(&self) -> FleetFigures {
        self.state().figures()
    }
}
