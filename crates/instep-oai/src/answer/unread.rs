//! Resources whose documents could not be read for a fault that may pass. They are read again until they can be: the change
//! log names each change once, so that a new resource would have no record for good.

use std::time::{Duration, Instant};

use instep_source::{catalogue::Snapshot, serve::SourceView};

use super::{error::AnswerError, index::RepositoryIndex};

/// The pause after a document that still cannot be read: the attempt may wait for another host, and harvesters wait for it.
const PAUSE: Duration = Duration::from_secs(60);

/// The most documents that are read again for one request.
const MOST: usize = 100;

const NOTE: &str =
    "INSERT OR REPLACE INTO unread VALUES (?1, (SELECT coalesce(max(tried), 0) + 1 FROM unread))";

impl RepositoryIndex {
    /// Reads some documents again, those first that wait longest, and ends at one that still cannot be read.
    ///
    /// # Errors
    /// If catalogue or index fail.
    pub(super) fn retry_unread(&mut self, view: &SourceView, snapshot: &Snapshot) -> Result<(), AnswerError> {
        if self.retry_at.is_some_and(|at| Instant::now() < at) {
            return Ok(());
        }
        if self.in_transaction(|| self.read_again(view, snapshot))? {
            self.retry_at = Instant::now().checked_add(PAUSE);
        }
        Ok(())
    }

    /// Reads documents again; returns `true` if one still cannot be read.
    fn read_again(&self, view: &SourceView, snapshot: &Snapshot) -> Result<bool, AnswerError> {
        let now = snapshot.at().instant().0;
        for uri in self.unread(MOST)? {
            self.connection.prepare_cached("DELETE FROM unread WHERE uri = ?1")?.execute([&uri])?;
            if let Some(resource) = view.resource(snapshot, &uri)? {
                self.index(view, &resource, now, 0)?;
            }
            let sql = "SELECT EXISTS (SELECT 1 FROM unread WHERE uri = ?1)";
            if self.connection.prepare_cached(sql)?.query_row([&uri], |row| row.get::<_, bool>(0))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes that the document of a resource has to be read again, after all that wait already.
    pub(super) fn note_unread(&self, uri: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(NOTE)?.execute([uri])?;
        Ok(())
    }

    /// Returns the URIs of documents that have to be read again, at most this many, those first that wait longest.
    pub(super) fn unread(&self, most: usize) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT uri FROM unread ORDER BY tried LIMIT ?1";
        self.connection.prepare_cached(sql)?.query_map([most as i64], |row| row.get(0))?.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o677_documents_that_could_not_be_read_are_read_again_in_turns() {
        let state = tempfile::tempdir().unwrap();
        let index = RepositoryIndex::open(state.path()).unwrap();
        ["b", "a", "c"].iter().for_each(|uri| index.note_unread(uri).unwrap());
        assert_eq!(index.unread(2).unwrap(), ["b", "a"]);
        index.note_unread("b").unwrap();
        assert_eq!(index.unread(9).unwrap(), ["a", "c", "b"]);
    }

    #[test]
    fn o922_a_document_is_noted_without_looking_at_all_that_could_not_be_read() {
        let state = tempfile::tempdir().unwrap();
        let index = RepositoryIndex::open(state.path()).unwrap();
        let mut plan = index.connection.prepare(&format!("EXPLAIN QUERY PLAN {NOTE}")).unwrap();
        let steps = plan.query_map(["a"], |row| row.get::<_, String>("detail")).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).collect();
        assert!(steps.iter().any(|step| step.contains("unread_tried")), "{steps:?}");
    }
}
