//! The rows that the servers of a Source share: documents in parts, and messages of the channels.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use instep_postgres::{Address, EngineFault, ServerLink, Session, Wakeups, wake};

use super::{row::damaged, subscribers};
use crate::catalogue::{
    CatalogueError,
    shared::{
        MOST_MESSAGES, MOST_REMOVALS, ReadShared, SharedContent, SharedDocument, SharedMessage, SharedPart,
        SharedPosition, SharedRows,
    },
};

/// The longest wait of a standby server for the database. It reads again soon anyway, and must be able to stop.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A reader of the shared rows of one Source.
#[derive(Debug)]
pub(super) struct SharedReader {
    link: ServerLink,
    source: i64,
    /// `None` before the first wait.
    wakeups: Mutex<Option<Wakeups>>,
}

impl SharedReader {
    /// Returns a reader for the publishing server. It continues after a failover of the database.
    pub(super) fn of_publisher(address: &Address, source: i64) -> Self {
        Self { link: ServerLink::new(address.clone()), source, wakeups: Mutex::default() }
    }

    /// Returns a reader for a standby server.
    pub(super) fn beside(address: &Address, source: i64) -> Self {
        let link = ServerLink::waiting_at_most(address.clone(), LONGEST_WAIT);
        Self { link, source, wakeups: Mutex::default() }
    }

    /// Returns the name under which the servers of this Source wake each other.
    fn channel(&self) -> String {
        format!("instep_source_{}", self.source)
    }
}

impl ReadShared for SharedReader {
    fn position(&self) -> Result<SharedPosition, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql = "SELECT documents, forgotten_documents, messages FROM source WHERE id = $1";
            let row = session.one(sql, &[&self.source])?;
            let number = |at| Ok::<_, EngineFault>(row.try_get::<_, i64>(at)?.cast_unsigned());
            Ok(SharedPosition { documents: number(0)?, forgotten: number(1)?, messages: number(2)? })
        })?)
    }

    fn documents_after(&self, number: u64) -> Result<Vec<SharedDocument>, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql = "SELECT number, name, length, modified, digest FROM document
                       WHERE source = $1 AND number > $2 ORDER BY number";
            session.query(sql, &[&self.source, &number.cast_signed()])?.iter().map(read_document).collect()
        })?)
    }

    fn part(&self, document: u64, part: u64) -> Result<Option<Vec<u8>>, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql = "SELECT bytes FROM document_part WHERE source = $1 AND document = $2 AND part = $3";
            let row = session.optional(sql, &[&self.source, &document.cast_signed(), &part.cast_signed()])?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })?)
    }

    fn messages_after(&self, number: u64) -> Result<Vec<SharedMessage>, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql =
                "SELECT number, topic, body FROM message WHERE source = $1 AND number > $2 ORDER BY number";
            let rows = session.query(sql, &[&self.source, &number.cast_signed()])?;
            let message = |row: &tokio_postgres::Row| {
                let number = row.try_get::<_, i64>(0)?.cast_unsigned();
                Ok(SharedMessage { number, topic: row.try_get(1)?, body: row.try_get(2)? })
            };
            rows.iter().map(message).collect()
        })?)
    }

    fn wake(&self) {
        // Sent after the transaction, because some engines have no notifications, and a failure must not undo the
        // rows. A server that misses the wake-up reads the rows a little later.
        if let Ok(session) = self.link.session()
            && wake(&session, &self.channel()).is_err()
        {
            session.give_up();
        }
    }

    fn wait(&self, most: Duration) -> Result<(), CatalogueError> {
        let mut wakeups = self.wakeups.lock().unwrap_or_else(PoisonError::into_inner);
        let listening = match wakeups.take() {
            Some(listening) => listening,
            None => Wakeups::listen(&self.link.address, &self.channel())?,
        };
        wakeups.insert(listening).wait(most);
        Ok(())
    }
}

fn read_document(row: &tokio_postgres::Row) -> Result<SharedDocument, EngineFault> {
    let (number, name): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    let length: Option<i64> = row.try_get(2)?;
    let digest = <[u8; 32]>::try_from(row.try_get::<_, &[u8]>(4)?);
    let content = match (length, digest) {
        (None, _) => None,
        (Some(length), Ok(digest)) => {
            Some(SharedContent { length: length.cast_unsigned(), modified_ns: row.try_get(3)?, digest })
        }
        (Some(_), Err(_)) => return Err(damaged("digest", &name)),
    };
    Ok(SharedDocument { number: number.cast_unsigned(), name, content })
}

/// Writes rows within a transaction of the writing process.
pub(super) fn write(session: &Session, source: i64, rows: &SharedRows) -> Result<(), EngineFault> {
    match rows {
        SharedRows::Hub(rows) => subscribers::write(session, source, rows),
        SharedRows::Documents { parts, documents } => {
            write_parts(session, source, parts)?;
            if documents.is_empty() { Ok(()) } else { write_documents(session, source, documents) }
        }
        SharedRows::Message { topic, body } => {
            let sql = "UPDATE source SET messages = messages + 1 WHERE id = $1 RETURNING messages";
            let number: i64 = session.one(sql, &[&source])?.try_get(0)?;
            let sql = "INSERT INTO message (source, number, topic, body) VALUES ($1, $2, $3, $4)";
            session.execute(sql, &[&source, &number, topic, body])?;
            let sql = "DELETE FROM message WHERE source = $1 AND number <= $2";
            session.execute(sql, &[&source, &(number - MOST_MESSAGES)]).map(drop)
        }
    }
}

/// Writes parts. They replace parts with the same numbers that a killed process left.
fn write_parts(session: &Session, source: i64, parts: &[SharedPart]) -> Result<(), EngineFault> {
    if parts.is_empty() {
        return Ok(());
    }
    let begun: Vec<i64> =
        parts.iter().filter(|part| part.part == 0).map(|part| part.document.cast_signed()).collect();
    let sql = "DELETE FROM document_part WHERE source = $1 AND document = ANY($2)";
    session.execute(sql, &[&source, &begun])?;
    let documents: Vec<i64> = parts.iter().map(|part| part.document.cast_signed()).collect();
    let numbers: Vec<i64> = parts.iter().map(|part| part.part.cast_signed()).collect();
    let bytes: Vec<&[u8]> = parts.iter().map(|part| part.bytes.as_slice()).collect();
    let sql = "INSERT INTO document_part (source, document, part, bytes)
               SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[])
               ON CONFLICT (source, document, part) DO UPDATE SET bytes = excluded.bytes";
    session.execute(sql, &[&source, &documents, &numbers, &bytes]).map(drop)
}

/// Writes the rows of documents, in place of earlier ones with the same names, and removes the parts of those.
fn write_documents(session: &Session, source: i64, documents: &[SharedDocument]) -> Result<(), EngineFault> {
    let last = documents.iter().map(|document| document.number.cast_signed()).max().unwrap_or_default();
    let names: Vec<&str> = documents.iter().map(|document| document.name.as_str()).collect();
    let numbers: Vec<i64> = documents.iter().map(|document| document.number.cast_signed()).collect();
    let of = |pick: fn(&SharedContent) -> i64| -> Vec<Option<i64>> {
        documents.iter().map(|document| document.content.as_ref().map(pick)).collect()
    };
    let (lengths, times) = (of(|content| content.length.cast_signed()), of(|content| content.modified_ns));
    let digests: Vec<&[u8]> = documents
        .iter()
        .map(|document| document.content.as_ref().map_or(&[][..], |content| &content.digest[..]))
        .collect();
    let sql = "DELETE FROM document_part WHERE source = $1
               AND document IN (SELECT number FROM document WHERE source = $1 AND name = ANY($2))";
    session.execute(sql, &[&source, &names])?;
    // A removal is recorded only if the document existed.
    let sql = "INSERT INTO document (source, name, number, length, modified, digest)
               SELECT $1, next.name, next.number, next.length, COALESCE(next.modified, 0), next.digest
               FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[])
               AS next(name, number, length, modified, digest)
               WHERE next.length IS NOT NULL OR EXISTS (SELECT 1 FROM document held
                   WHERE held.source = $1 AND held.name = next.name AND held.length IS NOT NULL)
               ON CONFLICT (source, name) DO UPDATE SET number = excluded.number, length = excluded.length,
                   modified = excluded.modified, digest = excluded.digest";
    session.execute(sql, &[&source, &names, &numbers, &lengths, &times, &digests])?;
    session.execute("UPDATE source SET documents = $2 WHERE id = $1", &[&source, &last])?;
    // A killed process may have left parts with numbers above the last committed one.
    let sql = "DELETE FROM document_part WHERE source = $1 AND document > $2";
    session.execute(sql, &[&source, &last])?;
    let sql = "WITH gone AS (DELETE FROM document WHERE source = $1 AND length IS NULL AND number <= (
                   SELECT number FROM document WHERE source = $1 AND length IS NULL ORDER BY number DESC OFFSET $2 LIMIT 1)
                   RETURNING number)
               UPDATE source SET forgotten_documents = (SELECT max(number) FROM gone)
               WHERE id = $1 AND EXISTS (SELECT 1 FROM gone)";
    session.execute(sql, &[&source, &MOST_REMOVALS]).map(drop)
}
