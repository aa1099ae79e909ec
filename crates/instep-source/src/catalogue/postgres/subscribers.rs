//! The rows of the hub: subscriptions, messages that are to be delivered, and requests that other servers received.

use std::time::Duration;

use instep_postgres::{Address, EngineFault, ServerLink, Session};
use tokio_postgres::Row;

use crate::catalogue::{
    CatalogueError,
    subscribers::{HubRows, MOST_REQUESTS, REQUESTS_AT_ONCE, ReadSubscribers, SubscriberRow},
    subscription::HubSubscription,
};

/// The longest wait of a reader for the server: a subscriber may be waiting for the answer.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A reader of the rows of the hub of one Source.
#[derive(Debug)]
pub(super) struct SubscriberReader {
    link: ServerLink,
    source: i64,
}

impl SubscriberReader {
    pub(super) fn new(address: &Address, source: i64) -> Self {
        Self { link: ServerLink::waiting_at_most(address.clone(), LONGEST_WAIT), source }
    }
}

impl ReadSubscribers for SubscriberReader {
    fn subscribers(&self) -> Result<Vec<SubscriberRow>, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql =
                "SELECT topic, callback, secret, expires, delivered, failures, failing_since, next_attempt
                       FROM subscription WHERE source = $1";
            session.query(sql, &[&self.source])?.iter().map(read_subscriber).collect()
        })?)
    }

    fn messages(&self) -> Result<Vec<(String, u64, i64)>, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql = "SELECT topic, sequence, at FROM delivery WHERE source = $1";
            let message =
                |row: &Row| Ok((row.try_get(0)?, row.try_get::<_, i64>(1)?.cast_unsigned(), row.try_get(2)?));
            session.query(sql, &[&self.source])?.iter().map(message).collect()
        })?)
    }

    fn body(&self, sequence: u64) -> Result<Option<Vec<u8>>, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql = "SELECT body FROM delivery WHERE source = $1 AND sequence = $2";
            let row = session.optional(sql, &[&self.source, &sequence.cast_signed()])?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })?)
    }

    fn requests(&self) -> Result<Vec<(u64, Vec<u8>)>, CatalogueError> {
        Ok(self.link.read(|session| {
            let sql = "SELECT number, form FROM hub_request WHERE source = $1 ORDER BY number LIMIT $2";
            let rows = session.query(sql, &[&self.source, &REQUESTS_AT_ONCE])?;
            rows.iter().map(|row| Ok((row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get(1)?))).collect()
        })?)
    }

    fn leave_request(&self, form: &[u8]) -> Result<bool, CatalogueError> {
        // If the answer of the database is lost, the request is written twice. That is harmless, because both concern
        // the same subscription.
        Ok(self.link.read(|session| {
            let sql = "INSERT INTO hub_request (source, form) SELECT $1, $2
                       WHERE (SELECT count(*) FROM hub_request WHERE source = $1) < $3";
            Ok(session.execute(sql, &[&self.source, &form, &MOST_REQUESTS])? == 1)
        })?)
    }
}

fn read_subscriber(row: &Row) -> Result<SubscriberRow, EngineFault> {
    let state = HubSubscription {
        secret: row.try_get(2)?,
        expires: row.try_get(3)?,
        cursor: row.try_get::<_, i64>(4)?.cast_unsigned(),
        failures: u32::try_from(row.try_get::<_, i64>(5)?).unwrap_or(u32::MAX),
        failing_since: row.try_get(6)?,
        next_attempt: row.try_get(7)?,
    };
    Ok(SubscriberRow { topic: row.try_get(0)?, callback: row.try_get(1)?, state: Some(state) })
}

/// Writes rows within a transaction of the writing process.
pub(super) fn write(session: &Session, source: i64, rows: &HubRows) -> Result<(), EngineFault> {
    match rows {
        HubRows::Subscribers(subscribers) => write_subscribers(session, source, subscribers),
        HubRows::Message { topic, sequence, at, body, oldest } => {
            let sql = "INSERT INTO delivery (source, sequence, topic, at, body) VALUES ($1, $2, $3, $4, $5)
                       ON CONFLICT (source, sequence) DO UPDATE
                       SET topic = excluded.topic, at = excluded.at, body = excluded.body";
            session.execute(sql, &[&source, &sequence.cast_signed(), topic, at, body])?;
            let sql = "DELETE FROM delivery WHERE source = $1 AND sequence < $2";
            session.execute(sql, &[&source, &oldest.cast_signed()]).map(drop)
        }
        HubRows::RequestsDone(numbers) => {
            let numbers: Vec<i64> = numbers.iter().map(|number| number.cast_signed()).collect();
            let sql = "DELETE FROM hub_request WHERE source = $1 AND number = ANY($2)";
            session.execute(sql, &[&source, &numbers]).map(drop)
        }
    }
}

fn write_subscribers(
    session: &Session,
    source: i64,
    subscribers: &[SubscriberRow],
) -> Result<(), EngineFault> {
    for SubscriberRow { topic, callback, state } in subscribers {
        let Some(state) = state else {
            let sql = "DELETE FROM subscription WHERE source = $1 AND md5(topic) = md5($2) AND topic = $2
                       AND md5(callback) = md5($3) AND callback = $3";
            session.execute(sql, &[&source, topic, callback])?;
            continue;
        };
        // An entry of an index may have only a third of a page, and a callback may be longer.
        let sql = "INSERT INTO subscription
                   (source, topic, callback, secret, expires, delivered, failures, failing_since, next_attempt)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                   ON CONFLICT (source, md5(topic), md5(callback)) DO UPDATE SET secret = excluded.secret,
                       expires = excluded.expires, delivered = excluded.delivered, failures = excluded.failures,
                       failing_since = excluded.failing_since, next_attempt = excluded.next_attempt";
        session.execute(
            sql,
            &[
                &source,
                topic,
                callback,
                &state.secret,
                &state.expires,
                &state.cursor.cast_signed(),
                &i64::from(state.failures),
                &state.failing_since,
                &state.next_attempt,
            ],
        )?;
    }
    Ok(())
}
