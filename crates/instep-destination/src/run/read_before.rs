//! The records of documents that were read before. The state has one for each document, and several sets may name the same
//! document: one of them reads a new version first, and has not applied it for the others.

use resourcesync::Uri;

use super::SyncRun;
use crate::{
    Error,
    discover::CapabilitySet,
    records::DocumentNote,
    state::{DocumentRecord, SetId},
};

impl SyncRun<'_> {
    /// Returns the record of a document; `None` if a set has not read the version that it is of (O794).
    pub(crate) fn read_before(&self, set: SetId, uri: &Uri) -> Result<Option<DocumentRecord>, Error> {
        let Some(record) = self.state().document(uri)? else { return Ok(None) };
        let was_read = DocumentNote::read(self.state(), &record)?.was_read_by(set);
        Ok(was_read.then_some(record))
    }

    /// Returns the record of a document that a set names, as [`Self::read_before`] does.
    pub(crate) fn read_before_by(
        &self,
        found: &CapabilitySet,
        uri: &Uri,
    ) -> Result<Option<DocumentRecord>, Error> {
        match self.state().known_set(found.name())? {
            Some(set) => self.read_before(set, uri),
            None => Ok(self.state().document(uri)?),
        }
    }

    /// Returns records of documents that a set has read, with a note of the sets that have read the same versions. A copy
    /// of one set needs none.
    pub(crate) fn with_readers(
        &self,
        set: SetId,
        mut records: Vec<DocumentRecord>,
    ) -> Result<Vec<DocumentRecord>, Error> {
        let state = self.state();
        if state.sets()?.len() < 2 {
            return Ok(records);
        }
        for record in &mut records {
            let mut note = DocumentNote { sets: Some(set.mask()), ..DocumentNote::read(state, record)? };
            if let Some(before) = state.document(&record.uri)?.filter(|before| is_same(before, record)) {
                let others = DocumentNote::read(state, &before)?.sets;
                note.sets = others.map(|others| others | set.mask());
            }
            note.write(state, record)?;
        }
        Ok(records)
    }
}

/// Returns `true` if two records are of the same version of a document.
fn is_same(one: &DocumentRecord, other: &DocumentRecord) -> bool {
    let version = |record: &DocumentRecord| {
        (record.etag.clone(), record.last_modified.clone(), record.digest, record.at)
    };
    version(one) == version(other)
}
