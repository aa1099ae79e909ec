//! The rows of pending retries, and of deletions that changes named.

use instep_postgres::{EngineFault, Session};
use resourcesync::{Change, DateTime, Uri};
use tokio_postgres::Row;

use super::{PostgresState, copy_table::CopyTable, row, row::MetadataColumns};
use crate::{
    plan::{Desired, DesiredPresence},
    report::PendingRetry,
    state::{KeptDeletion, Owed, ReadPending, SetId, SourceId, StateError},
};

/// The columns of [`read`].
pub(super) const COLUMNS: &str =
    "uri, length, digests, lastmod, datetime, etag, media_type, links, extra, change, attempts, why";

/// Reads the pending retry in a row.
pub(super) fn read(from: &Row) -> Result<Owed, EngineFault> {
    let mut desired = Desired::new(row::uri(from, 0)?);
    desired.metadata = row::metadata(from, 1)?;
    desired.set_retrieval_text(row::text(from, 8)?).map_err(row::value)?;
    desired.presence = DesiredPresence::after(Some(&row::change(from, 9)?));
    desired.attempts = u32::try_from(from.try_get::<_, i64>(10)?).map_err(row::value)?;
    Ok(Owed { desired, why: from.try_get(11)? })
}

impl ReadPending for PostgresState {
    fn owed_after(&self, set: SetId, after: Option<&str>, limit: usize) -> Result<Vec<Owed>, StateError> {
        if !self.may_have(CopyTable::Owed)? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM owed WHERE copy = $1 AND set_id = $2 AND uri > $3 ORDER BY uri LIMIT $4"
        );
        self.read(|session| {
            let after = after.unwrap_or_default();
            let rows = session.query(&sql, &[&self.copy, &i64::from(set.0), &after, &(limit as i64)])?;
            rows.iter().map(read).collect()
        })
    }

    fn owed(&self, set: SetId, uri: &str) -> Result<Option<Owed>, StateError> {
        if !self.may_have(CopyTable::Owed)? {
            return Ok(None);
        }
        let sql = format!("SELECT {COLUMNS} FROM owed WHERE copy = $1 AND set_id = $2 AND uri = $3");
        self.read(|session| {
            let found = session.optional(&sql, &[&self.copy, &i64::from(set.0), &uri])?;
            found.as_ref().map(read).transpose()
        })
    }

    fn is_owed(&self, uri: &str) -> Result<bool, StateError> {
        Ok(self.may_have(CopyTable::Owed)?
            && self
                .is("SELECT EXISTS (SELECT 1 FROM owed WHERE copy = $1 AND uri = $2)", &[&self.copy, &uri])?)
    }

    fn owed_of(&self, source: SourceId) -> Result<u64, StateError> {
        if !self.may_have(CopyTable::Owed)? {
            return Ok(0);
        }
        let sql = "SELECT COUNT(*) FROM owed WHERE copy = $1
                   AND set_id NOT IN (SELECT id FROM set_of_resources WHERE copy = $1 AND source <> $2)";
        self.count(sql, &[&self.copy, &source.number()])
    }

    fn owed_count(&self) -> Result<u64, StateError> {
        self.count("SELECT COUNT(*) FROM owed WHERE copy = $1", &[&self.copy])
    }

    fn pending_retries(&self, after: &str, most: usize) -> Result<Vec<PendingRetry>, StateError> {
        let sql = "SELECT uri, attempts, why FROM owed WHERE copy = $1 AND uri > $2 ORDER BY uri LIMIT $3";
        let read = |from: &Row| {
            let attempts = u32::try_from(from.try_get::<_, i64>(1)?).map_err(row::value)?;
            Ok(PendingRetry { uri: row::uri(from, 0)?, attempts, reason: from.try_get(2)? })
        };
        self.read(|session| {
            session.query(sql, &[&self.copy, &after, &(most as i64)])?.iter().map(read).collect()
        })
    }

    fn gone(&self, set: SetId, uri: &str) -> Result<Option<DateTime>, StateError> {
        if !self.may_have(CopyTable::Gone)? {
            return Ok(None);
        }
        let sql = "SELECT micros FROM gone WHERE copy = $1 AND set_id = $2 AND uri = $3";
        self.read(|session| {
            let found = session.optional(sql, &[&self.copy, &i64::from(set.0), &uri])?;
            Ok(found.map(|row| row.try_get(0)).transpose()?.map(DateTime::from_unix_micros))
        })
    }

    fn held_though_gone_after(
        &self,
        set: SetId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeptDeletion>, StateError> {
        if !self.may_have(CopyTable::Gone)? {
            return Ok(Vec::new());
        }
        let sql = "SELECT gone.uri, micros, held.datetime FROM gone
             JOIN held ON held.copy = gone.copy AND held.uri = gone.uri
             WHERE gone.copy = $1 AND set_id = $2 AND gone.uri > $3 AND held.sets & $5 <> 0
             ORDER BY gone.uri LIMIT $4";
        let read = |from: &Row| {
            let deleted = DateTime::from_unix_micros(from.try_get(1)?);
            Ok(KeptDeletion { uri: row::uri(from, 0)?, deleted, changed: row::datetime(from, 2)? })
        };
        self.read(|session| {
            let (id, most, after) = (i64::from(set.0), limit as i64, after.unwrap_or_default());
            session.query(sql, &[&self.copy, &id, &after, &most, &set.mask()])?.iter().map(read).collect()
        })
    }

    fn keeps_deletions(&self, set: SetId) -> Result<bool, StateError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM gone WHERE copy = $1 AND set_id = $2)";
        Ok(self.may_have(CopyTable::Gone)? && self.is(sql, &[&self.copy, &i64::from(set.0)])?)
    }
}

/// Records pending retries, each replacing an earlier one.
pub(super) fn put(session: &Session, copy: i64, debts: &[(SetId, &Owed)]) -> Result<(), EngineFault> {
    if debts.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO owed (copy, set_id, uri, change, attempts, why, length, digests, lastmod, datetime, etag,
         media_type, links, extra)
         SELECT $1::bigint, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
         $8::bytea[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
         ON CONFLICT (copy, set_id, uri) DO UPDATE SET change = excluded.change, attempts = excluded.attempts,
         why = excluded.why, length = excluded.length, digests = excluded.digests, lastmod = excluded.lastmod,
         datetime = excluded.datetime, etag = excluded.etag, media_type = excluded.media_type, links = excluded.links,
         extra = excluded.extra";
    let sets: Vec<_> = debts.iter().map(|(set, _)| i64::from(set.0)).collect();
    let uris: Vec<_> = debts.iter().map(|(_, owed)| owed.desired.uri.as_str()).collect();
    let change = |owed: &Owed| match owed.desired.presence {
        DesiredPresence::Absent => Change::Deleted,
        _ => Change::Updated,
    };
    let changes: Vec<_> = debts.iter().map(|(_, owed)| change(owed).as_str().to_owned()).collect();
    let attempts: Vec<_> = debts.iter().map(|(_, owed)| i64::from(owed.desired.attempts)).collect();
    let whys: Vec<_> = debts.iter().map(|(_, owed)| row::plain(&owed.why)).collect();
    let mut extras = Vec::with_capacity(debts.len());
    for (_, owed) in debts {
        let text = owed.desired.retrieval.as_ref().map(|retrieval| retrieval.to_text()).transpose();
        extras.push(text.map_err(row::value)?);
    }
    let columns = MetadataColumns::of(debts.iter().map(|(_, owed)| &owed.desired.metadata));
    let MetadataColumns { length, digests, lastmod, datetime, etag, media_type, links } = columns;
    session.execute(
        sql,
        &[
            &copy,
            &sets,
            &uris,
            &changes,
            &attempts,
            &whys,
            &length,
            &digests,
            &lastmod,
            &datetime,
            &etag,
            &media_type,
            &links,
            &extras,
        ],
    )?;
    Ok(())
}

/// Removes pending retries of resources, each in the sets of its mask.
pub(super) fn clear(session: &Session, copy: i64, uris: &[&str], masks: &[i64]) -> Result<(), EngineFault> {
    if !uris.is_empty() {
        let sql = "DELETE FROM owed o USING unnest($2::text[], $3::bigint[]) AS c(uri, sets)
                   WHERE o.copy = $1 AND o.uri = c.uri AND (1::bigint << o.set_id::integer) & c.sets <> 0";
        session.execute(sql, &[&copy, &uris, &masks])?;
    }
    Ok(())
}

/// Records deletions that changes named. If there are several of one resource, the last counts.
pub(super) fn put_gone(
    session: &Session,
    copy: i64,
    gone: &[(Uri, SetId, DateTime)],
) -> Result<(), EngineFault> {
    let sql = "INSERT INTO gone (copy, set_id, uri, micros)
         SELECT DISTINCT ON (g.set_id, g.uri) $1::bigint, g.set_id, g.uri, g.micros
         FROM unnest($2::bigint[], $3::text[], $4::bigint[]) WITH ORDINALITY AS g(set_id, uri, micros, n)
         ORDER BY g.set_id, g.uri, g.n DESC
         ON CONFLICT (copy, set_id, uri) DO UPDATE SET micros = excluded.micros";
    let sets: Vec<_> = gone.iter().map(|(_, set, _)| i64::from(set.0)).collect();
    let uris: Vec<_> = gone.iter().map(|(uri, ..)| uri.as_str()).collect();
    let micros: Vec<_> = gone.iter().map(|(.., time)| time.unix_micros()).collect();
    session.execute(sql, &[&copy, &sets, &uris, &micros])?;
    Ok(())
}
