//! The journal: looks at a Source for its trend, actions of operators, and alerts that wait to be sent.

use std::collections::BTreeMap;

use rusqlite::params;

use super::FleetRecord;
use crate::{Alert, AlertKind, FleetError, name::SourceName};

/// The looks that are kept of each Source.
const KEPT_LOOKS: i64 = 200;

/// By the primary key, backwards: it reads the rows that it returns and no others.
pub(super) const LAST_LOOKS: &str =
    "SELECT at, exit_code, lag, held, bytes, pending, changed, transferred FROM look
    WHERE source = ?1 ORDER BY at DESC LIMIT ?2";

/// The end of a look at a Source: one point of its trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookSample {
    /// The time at which it ended, in seconds since 1970.
    pub at: i64,
    /// Its exit code.
    pub exit_code: u8,
    /// The age of the Source's state that the copy had reached, in seconds.
    pub lag: Option<u64>,
    /// Resources held after it.
    pub held: u64,
    /// Bytes held after it.
    pub bytes: u64,
    /// Resources pending after it.
    pub pending: u64,
    /// Resources that it created, updated or deleted.
    pub changed: u64,
    /// Bytes that it transferred.
    pub transferred: u64,
}

/// An action of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditLine {
    /// Its number.
    pub id: i64,
    /// Its time, in seconds since 1970.
    pub at: i64,
    /// The operator.
    pub who: String,
    /// The action.
    pub what: String,
    /// The Source.
    pub source: Option<String>,
}

impl FleetRecord {
    /// Adds a point to the trend of a Source; the oldest goes.
    pub(crate) fn add_look(&self, name: &SourceName, look: &LookSample) -> Result<(), FleetError> {
        self.execute(
            "INSERT OR REPLACE INTO look (source, at, exit_code, lag, held, bytes, pending, changed, transferred)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                name.as_str(),
                look.at,
                look.exit_code,
                look.lag.map(u64::cast_signed),
                look.held.cast_signed(),
                look.bytes.cast_signed(),
                look.pending.cast_signed(),
                look.changed.cast_signed(),
                look.transferred.cast_signed(),
            ],
        )?;
        self.execute(
            "DELETE FROM look WHERE source = ?1 AND at <
             (SELECT at FROM look WHERE source = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)",
            params![name.as_str(), KEPT_LOOKS - 1],
        )?;
        Ok(())
    }

    /// Returns the last looks at a Source, the oldest first.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn looks(&self, name: &SourceName) -> Result<Vec<LookSample>, FleetError> {
        self.last_looks(name, KEPT_LOOKS)
    }

    /// Returns the last looks at some Sources, the oldest first; at most so many of each.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn looks_of(
        &self,
        names: &[SourceName],
        most: usize,
    ) -> Result<BTreeMap<SourceName, Vec<LookSample>>, FleetError> {
        names.iter().map(|name| Ok((name.clone(), self.last_looks(name, most as i64)?))).collect()
    }

    fn last_looks(&self, name: &SourceName, most: i64) -> Result<Vec<LookSample>, FleetError> {
        let read = |row: &rusqlite::Row<'_>| {
            let number = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
            Ok(LookSample {
                at: row.get(0)?,
                exit_code: row.get(1)?,
                lag: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
                held: number(3)?,
                bytes: number(4)?,
                pending: number(5)?,
                changed: number(6)?,
                transferred: number(7)?,
            })
        };
        let looks = || {
            self.connection
                .prepare_cached(LAST_LOOKS)?
                .query_map(params![name.as_str(), most], read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut looks = looks().map_err(|source| self.error(source))?;
        looks.reverse();
        Ok(looks)
    }

    /// Writes an action into the audit log.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn note_action(
        &self,
        at: i64,
        who: &str,
        what: &str,
        source: Option<&SourceName>,
    ) -> Result<(), FleetError> {
        self.execute(
            "INSERT INTO audit (at, who, what, source) VALUES (?1, ?2, ?3, ?4)",
            params![at, who, what, source.map(SourceName::as_str)],
        )?;
        Ok(())
    }

    /// Returns actions, the newest first, from the one before `before`.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn actions(&self, before: i64, most: usize) -> Result<Vec<AuditLine>, FleetError> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(AuditLine {
                id: row.get(0)?,
                at: row.get(1)?,
                who: row.get(2)?,
                what: row.get(3)?,
                source: row.get(4)?,
            })
        };
        let lines = || {
            self.connection
                .prepare_cached(
                    "SELECT id, at, who, what, source FROM audit WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
                )?
                .query_map(params![before, most as i64], read)?
                .collect::<rusqlite::Result<_>>()
        };
        lines().map_err(|source| self.error(source))
    }

    /// Keeps an alert until it is sent.
    pub(crate) fn keep_alert(&self, alert: &Alert) -> Result<(), FleetError> {
        self.execute(
            "INSERT INTO alert (at, source, url, kind, text) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![alert.at, alert.source.as_str(), alert.url, alert.kind.as_str(), alert.text],
        )?;
        Ok(())
    }

    /// Returns the alerts that are not sent yet, and the number of the last one.
    pub(crate) fn unsent_alerts(&self, most: usize) -> Result<(i64, Vec<Alert>), FleetError> {
        let mut last = 0;
        let read = |row: &rusqlite::Row<'_>| {
            last = row.get(0)?;
            let kinds =
                [AlertKind::Failing, AlertKind::Refused, AlertKind::Quarantined, AlertKind::Recovered];
            let kind: String = row.get(4)?;
            let kind = kinds.into_iter().find(|known| known.as_str() == kind).unwrap_or(AlertKind::Failing);
            let source = row.get::<_, String>(2)?.parse();
            Ok(source.ok().zip(Some((row.get(1)?, row.get(3)?, kind, row.get(5)?))))
        };
        let found = self
            .connection
            .prepare_cached("SELECT id, at, source, url, kind, text FROM alert ORDER BY id LIMIT ?1")
            .and_then(|mut all| all.query_map([most as i64], read)?.collect::<rusqlite::Result<Vec<_>>>());
        let found = found.map_err(|source| self.error(source))?;
        let alert = |(source, (at, url, kind, text))| Alert { source, url, kind, text, at };
        Ok((last, found.into_iter().flatten().map(alert).collect()))
    }

    /// Forgets alerts up to a number: they are sent.
    pub(crate) fn alerts_sent(&self, up_to: i64) -> Result<(), FleetError> {
        self.execute("DELETE FROM alert WHERE id <= ?1", [up_to])?;
        Ok(())
    }
}
