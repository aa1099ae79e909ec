//! The sets that a copy follows, with the checkpoint and the documents of each, its Sources and its settings.

use resourcesync::Uri;

use super::{
    PostgresState,
    copy_table::CopyTable,
    followed_row::{self, DOCUMENT, FollowedSet, read_document},
};
use crate::state::{Checkpoint, DocumentRecord, ReadFollowed, SetId, SourceId, StateError};

impl PostgresState {
    /// Returns the sets that the copy follows.
    pub(super) fn followed_sets(&self) -> Result<Vec<FollowedSet>, StateError> {
        match &self.known {
            Some(known) => Ok(known.sets(&self.link, self.copy)?),
            None => self.read(|session| followed_row::sets(session, self.copy)),
        }
    }

    /// Returns `true` if sets belong to a Source and to no other one. Most runs find the same sets as the last run, so
    /// this saves a transaction.
    pub(super) fn has_all(&self, source: SourceId, ids: &[SetId]) -> Result<bool, StateError> {
        let of_source = self.sets_of(source)?;
        Ok(ids.iter().all(|id| of_source.contains(id)))
    }
}

impl ReadFollowed for PostgresState {
    fn sets(&self) -> Result<Vec<(SetId, String)>, StateError> {
        Ok(self.followed_sets()?.into_iter().map(|set| (set.id, set.uri)).collect())
    }

    fn known_set(&self, uri: &str) -> Result<Option<SetId>, StateError> {
        Ok(self.followed_sets()?.iter().find(|set| set.uri == uri).map(|set| set.id))
    }

    fn checkpoint(&self, set: SetId) -> Result<Option<Checkpoint>, StateError> {
        let sets = self.followed_sets()?;
        Ok(sets.into_iter().find(|one| one.id == set).and_then(|found| found.checkpoint))
    }

    fn document(&self, uri: &Uri) -> Result<Option<DocumentRecord>, StateError> {
        if !self.may_have(CopyTable::Document)? {
            return Ok(None);
        }
        let sql = format!("SELECT {DOCUMENT} FROM document WHERE copy = $1 AND uri = $2");
        self.read(|session| {
            session.optional(&sql, &[&self.copy, &uri.as_str()])?.as_ref().map(read_document).transpose()
        })
    }

    fn setting(&self, name: &str) -> Result<Option<String>, StateError> {
        match &self.known {
            Some(known) => Ok(known.setting(&self.link, self.copy, name)?),
            None => Ok(self.read(|session| followed_row::settings(session, self.copy))?.remove(name)),
        }
    }

    fn sources(&self) -> Result<Vec<(SourceId, String)>, StateError> {
        match &self.known {
            Some(known) => Ok(known.sources(&self.link, self.copy)?),
            None => self.read(|session| followed_row::sources(session, self.copy)),
        }
    }

    fn source(&self, url: &str) -> Result<Option<SourceId>, StateError> {
        Ok(self.sources()?.into_iter().find(|(_, known)| known == url).map(|(source, _)| source))
    }

    fn sets_of(&self, source: SourceId) -> Result<Vec<SetId>, StateError> {
        let sets = self.followed_sets()?;
        Ok(sets.iter().filter(|set| set.source == Some(source)).map(|set| set.id).collect())
    }
}
