//! The actions of a plan for resources that several parts of an inventory name.

use super::{Action, Actions, StateError};

impl Actions {
    /// Returns the next URIs after one, in their order, that have several actions. Usually none has, and fingerprints of the
    /// URIs show that: an index of all of them would cost each first copy more (O1121).
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn repeated_after(&self, uri: &str, limit: usize) -> Result<Vec<String>, StateError> {
        if !self.uris.may_repeat() {
            return Ok(Vec::new());
        }
        self.index_uris()?;
        let repeated = || {
            let sql = "SELECT uri FROM action WHERE uri > ?1 GROUP BY uri HAVING COUNT(*) > 1 ORDER BY uri LIMIT ?2";
            self.connection
                .prepare_cached(sql)?
                .query_map((uri, limit as i64), |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<String>>>()
        };
        repeated().map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns all actions for a URI, in their order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn all_for_uri(&self, uri: &str) -> Result<Vec<Action>, StateError> {
        self.index_uris()?;
        self.page("uri = ?1 ORDER BY sequence", [uri])
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::Uri;

    use super::*;
    use crate::{plan::Desired, state::ActionKind};

    /// Returns the URIs that have several actions in a plan of resources with these names, and if that needed an index.
    fn repeated(names: &[&str]) -> (Vec<String>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let mut actions = Actions::create(&folder.path().join("plan")).unwrap();
        for name in names {
            let uri = Uri::parse(&format!("http://example.com/{name}")).unwrap();
            actions.push(&Action::new(ActionKind::Create, Desired::new(uri))).unwrap();
        }
        let repeated = actions.repeated_after("", 10).unwrap();
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'action_by_uri')";
        (repeated, actions.connection.query_row(sql, [], |row| row.get(0)).unwrap())
    }

    #[test]
    fn o1121_a_plan_without_repeated_resources_needs_no_index_of_its_uris() {
        assert_eq!(repeated(&["a", "b", "c"]), (Vec::new(), false));
        assert_eq!(repeated(&["a", "b", "a"]), (vec!["http://example.com/a".to_owned()], true));
    }
}
