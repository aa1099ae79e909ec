//! The journal: looks at a Source for its trend, actions of operators, and alerts to be sent.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    FleetRecord,
    engine::{Field, FieldFault, FieldRow, Statements},
    rows::AT_ONCE,
};
use crate::{Alert, AlertKind, FleetError, definition::SourceDefinition, name::SourceName, share::WorkerId};

/// The number of stored looks of each Source.
const KEPT_LOOKS: i64 = 200;

/// The Sources whose last looks are read by one statement: with one for each, a page of the dashboard would wait for the
/// database a hundred times.
const LOOKS_AT_ONCE: usize = 50;

/// Reads the last looks backwards along the primary key, so that no other rows are read.
pub(super) const LAST_LOOKS: &str =
    "SELECT at, exit_code, lag, held, bytes, pending, changed, transferred FROM look
    WHERE source = $1 ORDER BY at DESC LIMIT $2";

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
    /// Adds a point to the trend of a Source, and removes the oldest.
    pub(super) fn add_look(
        statements: &dyn Statements,
        name: &SourceName,
        look: &LookSample,
    ) -> Result<(), FleetError> {
        let sql = "INSERT INTO look (source, at, exit_code, lag, held, bytes, pending, changed, transferred)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (source, at) DO UPDATE SET exit_code = excluded.exit_code, lag = excluded.lag, held = excluded.held,
             bytes = excluded.bytes, pending = excluded.pending, changed = excluded.changed,
             transferred = excluded.transferred";
        let fields = [
            name.as_str().into(),
            look.at.into(),
            i64::from(look.exit_code).into(),
            look.lag.map(u64::cast_signed).into(),
            look.held.into(),
            look.bytes.into(),
            look.pending.into(),
            look.changed.into(),
            look.transferred.into(),
        ];
        statements.execute(sql, &fields)?;
        let sql = "DELETE FROM look WHERE source = $1 AND at <
             (SELECT at FROM look WHERE source = $1 ORDER BY at DESC LIMIT 1 OFFSET $2)";
        statements.execute(sql, &[name.as_str().into(), (KEPT_LOOKS - 1).into()]).map(drop)
    }

    /// Returns the last looks at a Source, the oldest first.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn looks(&self, name: &SourceName) -> Result<Vec<LookSample>, FleetError> {
        self.last_looks(name, KEPT_LOOKS)
    }

    /// Returns the last looks at some Sources, the oldest first, with a maximum number for each.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn looks_of(
        &self,
        names: &[SourceName],
        most: usize,
    ) -> Result<BTreeMap<SourceName, Vec<LookSample>>, FleetError> {
        let mut looks: BTreeMap<_, Vec<_>> = names.iter().map(|name| (name.clone(), Vec::new())).collect();
        let sql = last_looks_of_several();
        for names in names.chunks(LOOKS_AT_ONCE) {
            // Empty names, which no Source has, fill the places, so that the statement is always the same.
            let places = (0..LOOKS_AT_ONCE).map(|place| names.get(place).map_or("", SourceName::as_str));
            let mut fields: Vec<Field> = vec![(most as i64).into()];
            fields.extend(places.map(Field::from));
            let read = |row: &FieldRow| {
                let name: SourceName = row.string(8)?.parse().map_err(FieldFault)?;
                Ok((name, sample(row)?))
            };
            for (name, look) in self.all(&sql, &fields, read)? {
                looks.entry(name).or_default().push(look);
            }
        }
        looks.values_mut().for_each(|looks| looks.sort_by_key(|look| look.at));
        Ok(looks)
    }

    fn last_looks(&self, name: &SourceName, most: i64) -> Result<Vec<LookSample>, FleetError> {
        let mut looks = self.all(LAST_LOOKS, &[name.as_str().into(), most.into()], sample)?;
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
        Self::note(&*self.engine, at, (who, what, source))
    }

    /// Writes an action on each of several Sources into the audit log.
    pub(super) fn note_each(
        &self,
        statements: &dyn Statements,
        at: i64,
        (who, what): (&str, &str),
        sources: &[SourceDefinition],
    ) -> Result<(), FleetError> {
        // If the transaction is repeated, these lines are among the last ones.
        let sql = "SELECT source FROM audit WHERE at = $1 AND who = $2 AND what = $3 AND source IS NOT NULL
             AND id > (SELECT COALESCE(MAX(id), 0) FROM audit) - $4";
        let last = sources.len() as u64 + 1_000;
        let noted = statements.query(sql, &[at.into(), who.into(), what.into(), last.into()])?;
        let noted = noted.iter().map(|row| row.string(0)).collect::<Result<BTreeSet<_>, _>>();
        let noted = noted.map_err(|fault| self.engine.damaged(fault))?;
        let names = sources.iter().map(|source| source.name.as_str());
        let names: Vec<_> = names.filter(|name| !noted.contains(*name)).collect();
        for piece in names.chunks(AT_ONCE) {
            let mut fields: Vec<Field> = vec![at.into(), who.into(), what.into()];
            fields.extend(piece.iter().map(|name| Field::from(*name)));
            let rows: Vec<_> = (4..=fields.len()).map(|place| format!("($1, $2, $3, ${place})")).collect();
            let sql = format!("INSERT INTO audit (at, who, what, source) VALUES {}", rows.join(", "));
            statements.execute(&sql, &fields)?;
        }
        Ok(())
    }

    /// Returns `true` if an action is among the last ones in the audit log.
    pub(super) fn is_noted(
        statements: &dyn Statements,
        at: i64,
        (who, what, source): (&str, &str, Option<&SourceName>),
    ) -> Result<bool, FleetError> {
        let sql =
            "SELECT id FROM audit WHERE at = $1 AND who = $2 AND what = $3 AND source IS NOT DISTINCT FROM $4
             AND id > (SELECT COALESCE(MAX(id), 0) - 1000 FROM audit)";
        let fields = [at.into(), who.into(), what.into(), source.map(SourceName::as_str).into()];
        Ok(!statements.query(sql, &fields)?.is_empty())
    }

    /// Writes an action into the audit log, with other statements or alone.
    pub(super) fn note(
        statements: &dyn Statements,
        at: i64,
        (who, what, source): (&str, &str, Option<&SourceName>),
    ) -> Result<(), FleetError> {
        // Written once, even if the transaction is repeated because the answer to its commit was lost.
        let sql = "INSERT INTO audit (at, who, what, source)
             SELECT CAST($1 AS bigint), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text)
             WHERE NOT EXISTS (SELECT 1 FROM audit WHERE at = $1 AND who = $2 AND what = $3 AND source IS NOT DISTINCT FROM $4
             AND id > (SELECT COALESCE(MAX(id), 0) - 1000 FROM audit))";
        let fields = [at.into(), who.into(), what.into(), source.map(SourceName::as_str).into()];
        statements.execute(sql, &fields).map(drop)
    }

    /// Returns actions, the newest first, from the one before `before`.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn actions(&self, before: i64, most: usize) -> Result<Vec<AuditLine>, FleetError> {
        let sql = "SELECT id, at, who, what, source FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2";
        let read = |row: &FieldRow| {
            Ok(AuditLine {
                id: row.number(0)?,
                at: row.number(1)?,
                who: row.string(2)?,
                what: row.string(3)?,
                source: row.text(4)?.map(str::to_owned),
            })
        };
        self.all(sql, &[before.into(), (most as i64).into()], read)
    }

    /// Keeps an alert until it is sent.
    pub(super) fn keep_alert(statements: &dyn Statements, alert: &Alert) -> Result<(), FleetError> {
        let sql = "INSERT INTO alert (at, source, url, kind, text) VALUES ($1, $2, $3, $4, $5)";
        let fields = [
            alert.at.into(),
            alert.source.as_str().into(),
            alert.url.as_str().into(),
            alert.kind.as_str().into(),
            alert.text.as_str().into(),
        ];
        statements.execute(sql, &fields).map(drop)
    }

    /// Returns the alerts up to a time that are not sent yet and that no other worker sends, each with its number, and the
    /// number of the last one. From now on they are this worker's. A worker that was removed takes none: nobody would free
    /// them.
    pub(crate) fn take_alerts(
        &self,
        worker: WorkerId,
        until: i64,
        most: usize,
    ) -> Result<(i64, Vec<(i64, Alert)>), FleetError> {
        let sql = "UPDATE alert SET worker = $1 WHERE worker IS NULL AND at <= $2
             AND EXISTS (SELECT 1 FROM worker WHERE id = $1 {kept})";
        self.engine.execute(sql, &[worker.into(), until.into()])?;
        let sql = "SELECT id, at, source, url, kind, text FROM alert WHERE worker = $1 ORDER BY id LIMIT $2";
        let read = |row: &FieldRow| {
            let kinds =
                [AlertKind::Failing, AlertKind::Refused, AlertKind::Quarantined, AlertKind::Recovered];
            let kind = row.string(4)?;
            let kind = kinds.into_iter().find(|known| known.as_str() == kind).unwrap_or(AlertKind::Failing);
            let source = row.string(2)?.parse().map_err(FieldFault)?;
            let alert = Alert { source, url: row.string(3)?, kind, text: row.string(5)?, at: row.number(1)? };
            Ok((row.number(0)?, alert))
        };
        let found: Vec<(i64, Alert)> = self.all(sql, &[worker.into(), (most as i64).into()], read)?;
        let last = found.last().map_or(0, |(last, _)| *last);
        Ok((last, found))
    }

    /// Forgets alerts of a worker up to a number: they are sent.
    pub(crate) fn alerts_sent(&self, worker: WorkerId, up_to: i64) -> Result<(), FleetError> {
        let sql = "DELETE FROM alert WHERE worker = $1 AND id <= $2";
        self.engine.execute(sql, &[worker.into(), up_to.into()]).map(drop)
    }
}

/// Returns the statement for the looks of several Sources, whose names are its parameters after the number of looks.
fn last_looks_of_several() -> String {
    let of = |place: usize| {
        format!(
            "SELECT * FROM (SELECT at, exit_code, lag, held, bytes, pending, changed, transferred, source FROM look
             WHERE source = ${} ORDER BY at DESC LIMIT $1) AS of_{place}",
            place + 2
        )
    };
    (0..LOOKS_AT_ONCE).map(of).collect::<Vec<_>>().join(" UNION ALL ")
}

/// Reads a look.
fn sample(row: &FieldRow) -> Result<LookSample, FieldFault> {
    Ok(LookSample {
        at: row.number(0)?,
        exit_code: u8::try_from(row.number(1)?).unwrap_or(u8::MAX),
        lag: row.optional(2)?.map(i64::cast_unsigned),
        held: row.count(3)?,
        bytes: row.count(4)?,
        pending: row.count(5)?,
        changed: row.count(6)?,
        transferred: row.count(7)?,
    })
}
