//! The place in a list, which outlives the process.

use rusqlite::{Connection, params};

use super::HarvestState;

/// The place in the list of one format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListPosition {
    /// The number of the list: the resources in it have this number.
    pub(crate) run: i64,
    /// `true` while the list is not at its end.
    pub(crate) is_open: bool,
    /// `true` if the list has all records, none of them damaged: missing records are deleted.
    pub(crate) is_whole: bool,
    /// The token of the next part; `None` if the list is requested from its beginning, or from `reached_at`.
    pub(crate) token: Option<String>,
    /// The datestamp that the list begins at; `None` if it has no limit.
    pub(crate) began_from: Option<i64>,
    /// The time of its first response by the repository's clock.
    pub(crate) started_at: Option<i64>,
    /// The largest datestamp in it so far.
    pub(crate) reached_at: Option<i64>,
    /// `true` while its datestamps only grow, so that a list that lost its token can continue from the last one.
    pub(crate) is_ordered: bool,
    /// `true` if a list of identifiers has records that are not held, or are held in an older state.
    pub(crate) has_strangers: bool,
    /// The datestamp that the next list begins at; `None` before the first one was complete.
    pub(crate) next_from: Option<i64>,
    /// The last time at which all held records were compared with those of the repository; negative, or 0, if a list since
    /// then may lack records.
    pub(crate) inventoried_at: Option<i64>,
}

impl ListPosition {
    /// Notes the datestamp of the next record; `None` if it cannot be read.
    pub(crate) fn pass(&mut self, datestamp: Option<i64>) {
        self.is_ordered &= datestamp.is_some() && self.reached_at <= datestamp;
        self.reached_at = self.reached_at.max(datestamp);
    }

    /// Returns `true` if the list lost its token, and began again at its last datestamp.
    pub(crate) fn has_begun_later(&self) -> bool {
        self.began_from != self.next_from
    }

    /// Makes the list begin again where it began first, because its records are not in the order of their datestamps.
    pub(crate) fn begin_unordered(&mut self) {
        (self.is_ordered, self.began_from) = (false, self.next_from);
    }

    /// Notes that the list may lack records although it has ended: nothing is deleted because of it, and the next comparison
    /// is made also if the repository lists deletions.
    pub(crate) fn doubt(&mut self) {
        self.is_whole = false;
        self.inventoried_at = Some(-self.inventoried_at.map_or(0, i64::abs));
    }
}

impl HarvestState {
    /// Returns the place in the list of a format.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn position(&self, format: &str) -> rusqlite::Result<ListPosition> {
        let mut statement = self.connection.prepare_cached(
            "SELECT run, is_open, is_whole, token, began_from, started_at, reached_at, is_ordered, has_strangers, next_from,
             inventoried_at FROM list WHERE format = ?1",
        )?;
        let mut rows = statement.query([format])?;
        let Some(row) = rows.next()? else { return Ok(ListPosition::default()) };
        Ok(ListPosition {
            run: row.get(0)?,
            is_open: row.get(1)?,
            is_whole: row.get(2)?,
            token: row.get(3)?,
            began_from: row.get(4)?,
            started_at: row.get(5)?,
            reached_at: row.get(6)?,
            is_ordered: row.get(7)?,
            has_strangers: row.get(8)?,
            next_from: row.get(9)?,
            inventoried_at: row.get(10)?,
        })
    }

    /// Returns an unused number for a list.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn next_run(&self) -> rusqlite::Result<i64> {
        self.connection.query_row("SELECT coalesce(max(run), 0) + 1 FROM list", [], |row| row.get(0))
    }
}

pub(super) fn write(connection: &Connection, format: &str, at: &ListPosition) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO list VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    statement.execute(params![
        format,
        at.run,
        at.is_open,
        at.is_whole,
        at.token,
        at.began_from,
        at.started_at,
        at.reached_at,
        at.is_ordered,
        at.has_strangers,
        at.next_from,
        at.inventoried_at
    ])?;
    Ok(())
}
