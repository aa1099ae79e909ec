//! The transactions of the process that writes a Source.

use std::time::Duration;

use instep_postgres::{EngineFault, NumberedWriter, PostgresError, Session, WriteLease};

use super::{row::read_head, rows::SourceRows};
use crate::catalogue::{
    CatalogueError, Head,
    counters::Counters,
    engine::{CatalogueTransaction, WriteCatalogue},
    ledger::ChangeLog,
    timeline::Timeline,
};

/// The time after a heartbeat for which this process certainly has the right to write: other processes wait longer
/// than this before they take it.
pub(super) const CERTAIN_FOR: Duration = Duration::from_secs(12);

/// The writer of a Source. It has the right to write it.
#[derive(Debug)]
pub(in crate::catalogue) struct SourceWriter {
    /// `None` if the catalogue was opened for reading.
    writer: Option<NumberedWriter<WriteLease>>,
    source: i64,
    place: String,
}

impl SourceWriter {
    pub(super) fn new(writer: Option<NumberedWriter<WriteLease>>, source: i64, place: String) -> Self {
        Self { writer, source, place }
    }
}

impl WriteCatalogue for SourceWriter {
    fn transaction(
        &mut self,
        timeline: &Timeline,
        run: &mut dyn FnMut(&mut dyn CatalogueTransaction),
    ) -> Result<(), CatalogueError> {
        let (source, place) = (self.source, self.place.as_str());
        let Some(writer) = &mut self.writer else {
            let what = "it was opened to be read".to_owned();
            return Err(PostgresError::Damaged { place: self.place.clone(), what }.into());
        };
        loop {
            let mut has_failed = false;
            let written = writer.write(|session| {
                let (head, clock) = begin(session, source)?;
                timeline.go_on_after(clock);
                let mut ledger = ChangeLog::new(SourceRows::new(session, source, place), timeline, head);
                run(&mut ledger);
                has_failed = ledger.rows.has_failed;
                if let Some(fault) = ledger.rows.passing.take() {
                    return Err(fault);
                }
                if has_failed {
                    return Err(EngineFault::Value("a piece of work failed".to_owned()));
                }
                write_head(session, source, ledger.head, timeline.last())?;
                write_counters(session, source, &ledger.counters)
            });
            match written {
                // The failed work has been answered; the rest is repeated without it.
                Err(error) if has_failed && !error.may_pass() => {}
                written => return Ok(written?),
            }
        }
    }

    fn compact(&mut self) -> Result<(u64, u64), CatalogueError> {
        Err(CatalogueError::CompactedByServer { place: self.place.clone() })
    }

    fn confirm(&mut self) -> Result<(), CatalogueError> {
        match &mut self.writer {
            // An empty transaction, which fails if another process has the right.
            Some(writer) if writer.right.unconfirmed_for() > CERTAIN_FOR => Ok(writer.write(|_| Ok(()))?),
            _ => Ok(()),
        }
    }
}

/// Returns the position of the catalogue, and the last datetime that was assigned.
pub(super) fn begin(session: &Session, source: i64) -> Result<(Head, i64), EngineFault> {
    let sql = "SELECT sequence, datetime, forgotten, revision, baselined, clock FROM source WHERE id = $1";
    let row = session.one(sql, &[&source])?;
    Ok((read_head(&row)?, row.try_get(5)?))
}

fn write_head(session: &Session, source: i64, head: Head, clock: i64) -> Result<(), EngineFault> {
    let sql = "UPDATE source SET sequence = $2, datetime = $3, forgotten = $4, revision = $5, baselined = $6, clock = $7
               WHERE id = $1";
    session.execute(
        sql,
        &[
            &source,
            &head.sequence.cast_signed(),
            &head.datetime.map(|datetime| datetime.unix_micros()),
            &head.forgotten.cast_signed(),
            &head.revision.cast_signed(),
            &head.baselined.cast_signed(),
            &clock,
        ],
    )?;
    Ok(())
}

fn write_counters(session: &Session, source: i64, counters: &Counters) -> Result<(), EngineFault> {
    for (number, tally) in counters.tallies() {
        let sql = "INSERT INTO tally (source, number, resources, bytes) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (source, number) DO UPDATE
                   SET resources = tally.resources + excluded.resources, bytes = tally.bytes + excluded.bytes";
        session.execute(sql, &[&source, &number, &tally.resources, &tally.bytes])?;
    }
    let Some(kept_from) = counters.kept_from() else { return Ok(()) };
    for (hour, kind, changes) in counters.activity() {
        let sql = "INSERT INTO activity (source, hour, kind, changes) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (source, hour, kind) DO UPDATE SET changes = activity.changes + excluded.changes";
        session.execute(sql, &[&source, &hour, &kind, &changes])?;
    }
    session.execute("DELETE FROM activity WHERE source = $1 AND hour < $2", &[&source, &kept_from])?;
    Ok(())
}
