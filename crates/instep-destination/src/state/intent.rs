use std::collections::BTreeMap;

use resourcesync::{Change, Digests, Uri};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{
    Checkpoint, DocumentRecord, Facts, Owed, SetId, State, StateError, changes, codec, held, owed, sets,
};
use crate::map::CopyPath;

/// A group that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntentId(i64);

/// What a commit of the state waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The disk has it when the commit returns.
    Disk,
    /// The disk has it before anything that is written later.
    Order,
    /// Nothing.
    Nothing,
}

/// One step of a group: written down before it is taken, so that a start after a crash can tell what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Operation {
    /// A staged file gets its final name, replacing what is there.
    Place {
        uri: String,
        path: String,
        key: String,
        staged: u64,
        sets: i64,
        facts: StoredFacts,
        replaces: bool,
    },
    /// A file goes: from its final name into staging.
    Remove { uri: String, path: String, staged: u64 },
    /// A file gets another final name.
    Move { uri: String, from: String, to: String, staged: u64 },
}

impl Operation {
    /// The resource it is about.
    pub(crate) fn uri(&self) -> &str {
        let (Self::Place { uri, .. } | Self::Remove { uri, .. } | Self::Move { uri, .. }) = self;
        uri
    }
}

/// Facts as an intent has them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredFacts {
    pub(crate) length: u64,
    pub(crate) digests: String,
    pub(super) lastmod: Option<String>,
    pub(super) datetime: Option<String>,
    pub(super) etag: Option<Box<str>>,
    pub(super) media_type: Option<String>,
    #[serde(default)]
    pub(super) links: Option<String>,
}

impl StoredFacts {
    pub(crate) fn new(facts: &Facts) -> Self {
        Self {
            length: facts.length.unwrap_or_default(),
            digests: facts.digests.to_string(),
            lastmod: codec::datetime_text(facts.lastmod.as_ref()),
            datetime: codec::datetime_text(facts.datetime.as_ref()),
            etag: facts.etag.clone(),
            media_type: facts.media_type.as_ref().map(ToString::to_string),
            links: codec::links_text(&facts.links),
        }
    }

    pub(crate) fn digests(&self) -> Digests {
        Digests::parse(&self.digests, |_| {})
    }
}

/// What the state takes over together with a group, in the same transaction (invariant 5).
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) owed: Vec<(SetId, Owed)>,
    pub(crate) paid: Vec<String>,
    pub(crate) refreshed: Vec<(Uri, Facts)>,
    pub(crate) left: Vec<(Uri, SetId)>,
    pub(crate) lost: Vec<String>,
    pub(crate) checkpoints: BTreeMap<SetId, Checkpoint>,
    pub(crate) documents: Vec<DocumentRecord>,
}

impl Ledger {
    pub(crate) fn is_empty(&self) -> bool {
        self.owed.is_empty()
            && self.paid.is_empty()
            && self.refreshed.is_empty()
            && self.left.is_empty()
            && self.lost.is_empty()
            && self.checkpoints.is_empty()
            && self.documents.is_empty()
    }
}

impl State {
    /// Writes down what a group is going to do; durable when this returns, unless durability is off.
    pub(crate) fn write_intent(&mut self, operations: &[Operation]) -> Result<IntentId, StateError> {
        let text = serde_json::to_string(operations).map_err(|error| self.error(to_sql(error)))?;
        self.connection
            .execute("INSERT INTO intent (operations) VALUES (?1)", [text])
            .map(|_| IntentId(self.connection.last_insert_rowid()))
            .map_err(|source| self.error(source))
    }

    /// Groups that were under way when the last run ended.
    pub(crate) fn intents(&self) -> Result<Vec<(IntentId, Vec<Operation>)>, StateError> {
        let read = || {
            self.connection
                .prepare("SELECT id, operations FROM intent ORDER BY id")?
                .query_map([], |row| {
                    let operations = serde_json::from_str(row.get_ref(1)?.as_str()?);
                    Ok((IntentId(row.get(0)?), operations.map_err(|error| codec::unreadable(1, error))?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|source| self.error(source))
    }

    /// Takes a group over and forgets its intent. Only the last of a run need be durable: until the next intent is,
    /// the group's own intent tells a start after a crash the same.
    pub(crate) fn commit_group(
        &mut self,
        intent: Option<IntentId>,
        done: &[Operation],
        ledger: &Ledger,
    ) -> Result<(), StateError> {
        let path = &self.path;
        let records_changes = self.records_changes;
        let connection = &mut self.connection;
        let mut commit = || {
            let transaction = connection.transaction()?;
            take_operations(&transaction, done, records_changes)?;
            take_ledger(&transaction, ledger)?;
            if let Some(IntentId(id)) = intent {
                transaction.execute("DELETE FROM intent WHERE id = ?1", [id])?;
            }
            transaction.commit()
        };
        commit().map_err(|source| StateError::sqlite(path, source))
    }

    /// What a commit waits for.
    pub(crate) fn set_waits(&mut self, waits: Waits) -> Result<(), StateError> {
        if self.waits == Some(waits) {
            return Ok(());
        }
        self.waits = Some(waits);
        let value = match waits {
            Waits::Disk => "full",
            Waits::Order => "normal",
            Waits::Nothing => "off",
        };
        self.tune(&[("synchronous", value)])
    }

    /// Folds the log back into the file, which makes all of it durable.
    pub(crate) fn fold_log(&mut self) -> Result<(), StateError> {
        self.set_waits(Waits::Order)?;
        self.connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .map_err(|source| self.error(source))
    }

    pub(super) fn next_id(&self) -> rusqlite::Result<i64> {
        next_id(&self.connection)
    }
}

fn next_id(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(
        "SELECT COALESCE((SELECT value FROM counter WHERE name = 'next_id'), 1)",
        [],
        |row| row.get(0),
    )
}

fn take_operations(
    connection: &Connection,
    done: &[Operation],
    records_changes: bool,
) -> rusqlite::Result<()> {
    let mut id = next_id(connection)?;
    let has_debts = connection.query_row("SELECT EXISTS (SELECT 1 FROM owed)", [], |row| row.get(0))?;
    for operation in done {
        let uri = operation.uri();
        if records_changes && matches!(operation, Operation::Remove { .. }) {
            changes::record(connection, &Change::Deleted, uri)?;
        }
        match operation {
            Operation::Place { path, key, sets, facts, .. } => {
                if CopyPath::from_state(path).is_none() {
                    return Err(outside(path));
                }
                held::put(connection, (uri, path, key), (id, *sets), facts)?;
                id += 1;
            }
            Operation::Remove { .. } => {
                connection.prepare_cached("DELETE FROM held WHERE uri = ?1")?.execute([uri])?;
            }
            Operation::Move { to, .. } => {
                connection
                    .prepare_cached("UPDATE held SET name = COALESCE(name, path), path = ?2 WHERE uri = ?1")?
                    .execute([uri, to.as_str()])?;
            }
        }
        if records_changes && !matches!(operation, Operation::Remove { .. }) {
            let is_new = matches!(operation, Operation::Place { replaces: false, .. });
            changes::record(connection, if is_new { &Change::Created } else { &Change::Updated }, uri)?;
        }
        if has_debts && !matches!(operation, Operation::Move { .. }) {
            owed::clear(connection, uri)?;
        }
    }
    connection.execute("INSERT OR REPLACE INTO counter (name, value) VALUES ('next_id', ?1)", [id])?;
    Ok(())
}

fn take_ledger(connection: &Connection, ledger: &Ledger) -> rusqlite::Result<()> {
    for (uri, facts) in &ledger.refreshed {
        held::refresh(connection, uri, facts)?;
    }
    for (uri, set) in &ledger.left {
        connection
            .prepare_cached("UPDATE held SET sets = sets & ~?2 WHERE uri = ?1")?
            .execute(params![uri.as_str(), set.mask()])?;
    }
    for uri in &ledger.lost {
        connection.prepare_cached("DELETE FROM held WHERE uri = ?1")?.execute([uri])?;
    }
    for uri in &ledger.paid {
        owed::clear(connection, uri)?;
    }
    for (set, debt) in &ledger.owed {
        owed::put(connection, *set, debt)?;
    }
    for (set, checkpoint) in &ledger.checkpoints {
        sets::put_checkpoint(connection, *set, checkpoint)?;
    }
    for document in &ledger.documents {
        sets::put_document(connection, document)?;
    }
    Ok(())
}

fn outside(path: &str) -> rusqlite::Error {
    to_sql(std::io::Error::other(format!("{path:?} is no path of a copy")))
}

fn to_sql(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
