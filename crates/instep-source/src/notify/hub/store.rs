//! The book on disk: subscriptions and messages outlive the program.

use std::{
    fmt,
    fs::{self, OpenOptions, Permissions},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use bytes::Bytes;
use instep_store::database::Schema;
use rusqlite::{Connection, OptionalExtension, params};

use super::book::{Book, HubSubscription, Key};
use crate::Error;

/// The permissions of the file, of which the mask of the process may take more away.
const OWNER_AND_GROUP: u32 = 0o660;

/// The place where a book is kept.
pub(super) trait KeepBook: fmt::Debug + Send {
    /// Returns the book as it was kept.
    fn book(&self) -> Result<Book, Error>;

    /// Writes subscriptions, and deletes those that have ended.
    fn keep(&self, subscriptions: &[(&Key, Option<&HubSubscription>)]) -> Result<(), Error>;

    /// Writes a message, and deletes those before the oldest one that is kept.
    fn publish(&self, topic: &str, sequence: u64, at: i64, body: &[u8], oldest: u64) -> Result<(), Error>;

    /// Returns the body of a message; `None` if it is not kept.
    fn body(&self, sequence: u64) -> Result<Option<Bytes>, Error>;
}

/// The database of the hub, a file.
#[derive(Debug)]
pub(super) struct HubStore {
    connection: Connection,
    path: Box<Path>,
}

/// The file. Version 1 had no number before versions were numbered, so its tables may exist. Without `FULL` a power
/// loss may lose the last subscriptions, but not the file; a subscriber that misses a message reads the documents.
const SCHEMA: Schema = Schema {
    application_id: 0x696e_7374,
    steps: &[VERSION_1],
    settings: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
    has_unnumbered_files: true,
};

const VERSION_1: &str = "
    CREATE TABLE IF NOT EXISTS subscription (
        topic TEXT, callback TEXT, secret TEXT, expires INTEGER NOT NULL, cursor INTEGER NOT NULL,
        failures INTEGER NOT NULL, failing_since INTEGER, next_attempt INTEGER NOT NULL,
        PRIMARY KEY (topic, callback)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS message (
        sequence INTEGER PRIMARY KEY, topic TEXT NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL
    );";

impl HubStore {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        // The result is ignored: if the file is there, or cannot be made, opening it says so.
        let _ = OpenOptions::new().write(true).create_new(true).mode(OWNER_AND_GROUP).open(path);
        let connection = SCHEMA.open(path)?;
        keep_from_others(path);
        Ok(Self { connection, path: path.into() })
    }

    /// Returns the subscriptions.
    pub(super) fn subscriptions(&self) -> Result<Vec<(Key, HubSubscription)>, Error> {
        let read = || {
            let mut subscriptions = self.connection.prepare(
                "SELECT topic, callback, secret, expires, cursor, failures, failing_since, next_attempt FROM subscription",
            )?;
            let subscriptions = subscriptions
                .query_map([], |row| {
                    let subscription = HubSubscription {
                        secret: row.get(2)?,
                        expires: row.get(3)?,
                        cursor: row.get::<_, i64>(4)? as u64,
                        failures: row.get(5)?,
                        failing_since: row.get(6)?,
                        next_attempt: row.get(7)?,
                    };
                    Ok(((row.get(0)?, row.get(1)?), subscription))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(subscriptions)
        };
        read().map_err(failed(&self.path))
    }
}

impl KeepBook for HubStore {
    fn book(&self) -> Result<Book, Error> {
        let subscriptions = self.subscriptions()?;
        let read = || {
            let mut messages = self.connection.prepare("SELECT topic, sequence, at FROM message")?;
            let messages = messages
                .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get(2)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(Book::restore(subscriptions, messages))
        };
        read().map_err(failed(&self.path))
    }

    fn keep(&self, subscriptions: &[(&Key, Option<&HubSubscription>)]) -> Result<(), Error> {
        let write = || {
            let transaction = self.connection.unchecked_transaction()?;
            for ((topic, callback), subscription) in subscriptions {
                match subscription {
                    None => transaction
                        .prepare_cached("DELETE FROM subscription WHERE topic = ?1 AND callback = ?2")?
                        .execute(params![topic, callback])?,
                    Some(it) => transaction
                        .prepare_cached(
                            "INSERT OR REPLACE INTO subscription VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                        )?
                        .execute(params![
                            topic,
                            callback,
                            it.secret,
                            it.expires,
                            it.cursor as i64,
                            it.failures,
                            it.failing_since,
                            it.next_attempt
                        ])?,
                };
            }
            transaction.commit()
        };
        write().map_err(failed(&self.path))
    }

    fn publish(&self, topic: &str, sequence: u64, at: i64, body: &[u8], oldest: u64) -> Result<(), Error> {
        let write = || {
            let transaction = self.connection.unchecked_transaction()?;
            transaction
                .prepare_cached("INSERT OR REPLACE INTO message VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![sequence as i64, topic, at, body])?;
            transaction
                .prepare_cached("DELETE FROM message WHERE sequence < ?1")?
                .execute([oldest as i64])?;
            transaction.commit()
        };
        write().map_err(failed(&self.path))
    }

    fn body(&self, sequence: u64) -> Result<Option<Bytes>, Error> {
        self.connection
            .prepare_cached("SELECT body FROM message WHERE sequence = ?1")
            .and_then(|mut it| it.query_row([sequence as i64], |row| row.get::<_, Vec<u8>>(0)).optional())
            .map(|body| body.map(Bytes::from))
            .map_err(failed(&self.path))
    }
}

/// Takes the permissions of other users away from a file that an earlier version made, and from those beside it. It has
/// the secrets of subscribers, with which anybody could sign for this hub, and the folder may be open to all.
fn keep_from_others(path: &Path) {
    for end in ["", "-wal", "-shm", ".v0"] {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        // By its name, because closing a file drops the locks that SQLite has on it in this process.
        let Ok(file) = fs::symlink_metadata(&path) else { continue };
        let mode = file.permissions().mode();
        if file.is_file() && mode & 0o007 != 0 {
            // The result is ignored: the file of another user works as it is.
            let _ = fs::set_permissions(&path, Permissions::from_mode(mode & OWNER_AND_GROUP));
        }
    }
}

fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> Error {
    move |source| Error::Catalogue { path: path.to_owned(), source: source.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_and_messages_outlive_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let key = ("http://a/t".to_owned(), "http://b/c".to_owned());
        let mut book = Book::default();
        let store = HubStore::open(&path).unwrap();
        let subscription = book.subscribe(key.clone(), Some("secret".into()), 42).clone();
        store.keep(&[(&key, Some(&subscription))]).unwrap();
        let sequence = book.publish(&key.0, 7);
        store.publish(&key.0, sequence, 7, b"body", book.oldest()).unwrap();
        drop(store);

        let store = HubStore::open(&path).unwrap();
        let mut book = store.book().unwrap();
        assert_eq!(book.get(&key), Some(&subscription));
        assert_eq!(book.take_due(7), std::slice::from_ref(&key));
        assert_eq!(store.body(sequence).unwrap().as_deref(), Some(&b"body"[..]));
        store.keep(&[(&key, None)]).unwrap();
        assert_eq!(store.book().unwrap().get(&key), None);
    }

    #[test]
    fn o873_the_secrets_of_subscribers_are_not_for_everybody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let open_to_others = || {
            let files = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
            let mode = |file: &fs::DirEntry| file.metadata().unwrap().permissions().mode();
            files.filter(|file| mode(file) & 0o007 != 0).map(|file| file.path()).collect::<Vec<_>>()
        };
        let store = HubStore::open(&path).unwrap();
        store.publish("http://a/t", 1, 7, b"body", 0).unwrap();
        assert!(open_to_others().is_empty(), "{:?}", open_to_others());
        drop(store);
        // As an earlier version made it.
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let _store = HubStore::open(&path).unwrap();
        assert!(open_to_others().is_empty(), "{:?}", open_to_others());
    }

    #[test]
    fn the_hub_of_0_1_0_is_taken_up_with_its_subscription_and_its_message() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/state-0.1.0/hub.db");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        fs::copy(golden, &path).unwrap();
        let topic = "http://127.0.0.1:8198/resourcesync/change-notification";
        let key = (topic.to_owned(), "http://127.0.0.1:8199/cb".to_owned());
        // First as that version left it, then as it was migrated.
        for _ in 0..2 {
            let store = HubStore::open(&path).unwrap();
            let mut book = store.book().unwrap();
            let subscription = book.get(&key).unwrap();
            assert_eq!(subscription.secret.as_deref(), Some("geheim"));
            assert_eq!((subscription.cursor, subscription.failures), (0, 1));
            let due = subscription.next_attempt;
            assert_eq!(book.take_due(due - 1), []);
            assert_eq!(book.take_due(due), std::slice::from_ref(&key));
            let body = store.body(1).unwrap().unwrap();
            assert!(std::str::from_utf8(&body).unwrap().contains("<loc>http://127.0.0.1:8198/f.txt</loc>"));
            assert_eq!(store.body(2).unwrap(), None);
        }
    }
}
