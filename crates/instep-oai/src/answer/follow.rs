//! The index follows the catalogue: by the change log, or by all resources if the log does not reach back.

use std::io;

use instep_source::{
    catalogue::{Head, Resource, Snapshot},
    serve::SourceView,
};
use resourcesync::{Change, DateTime};
use rusqlite::{OptionalExtension as _, Transaction, TransactionBehavior};

use super::{
    dublin_core,
    error::AnswerError,
    format::RecordFormat,
    index::{NewRecord, RepositoryIndex},
    item::{ItemNames, is_absence, is_item, is_xml, metadata, set_spec, unless_short},
};

/// The name under which the index keeps the last change that it shows.
const SEQUENCE: &str = "sequence";
const BASELINED: &str = "baselined";
/// The name under which the index keeps the names of the sets, by their numbers: the records have the names.
const SETS: &str = "sets";
/// The name under which the index keeps the number of a pass over all resources that is under way.
const PASS: &str = "pass";
const PASS_SEQUENCE: &str = "pass-sequence";
const PASS_BASELINED: &str = "pass-baselined";
const PASS_SETS: &str = "pass-sets";
/// The key after which the pass continues.
const PASS_KEY: &str = "pass-key";

impl RepositoryIndex {
    /// Updates the index by at most this many resources; returns the state of the catalogue that the index now shows,
    /// or `None` if it must continue.
    ///
    /// # Errors
    /// If catalogue or index fail.
    pub(super) fn follow(&mut self, view: &SourceView, most: usize) -> Result<Option<Snapshot>, AnswerError> {
        let snapshot = view.snapshot()?;
        if !self.in_transaction(|| self.take_changes(view, &snapshot, most))? {
            return Ok(None);
        }
        self.retry_unread(view, &snapshot)?;
        Ok(Some(snapshot))
    }

    /// Does work in one transaction. It is rolled back if the work fails or panics: left open, it would make each later
    /// request fail.
    pub(super) fn in_transaction<T>(
        &self,
        work: impl FnOnce() -> Result<T, AnswerError>,
    ) -> Result<T, AnswerError> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let done = work()?;
        transaction.commit()?;
        Ok(done)
    }

    fn take_changes(&self, view: &SourceView, snapshot: &Snapshot, most: usize) -> Result<bool, AnswerError> {
        let head = snapshot.head();
        let last = signed(head.sequence);
        let sets = view.sets().join(" ");
        let is_passing = self.number(PASS_SEQUENCE)?.is_some();
        if is_passing || !self.is_in_reach(&head, &sets)? {
            if !is_passing {
                self.set_number(PASS, Some(self.number(PASS)?.unwrap_or(0) + 1))?;
                self.set_number(PASS_SEQUENCE, Some(last))?;
                self.set_number(PASS_BASELINED, Some(signed(head.baselined)))?;
                self.set_names(PASS_SETS, &sets)?;
                self.connection.execute("DELETE FROM meta WHERE name = ?1", [PASS_KEY])?;
            }
            if !self.pass(view, snapshot, most)? {
                return Ok(false);
            }
        }
        if self.names(SETS)?.is_none() {
            // An index of an earlier version does not have them.
            self.set_names(SETS, &sets)?;
        }
        let from = self.number(SEQUENCE)?.unwrap_or(0);
        let mut reached = from;
        for change in snapshot.changes(u64::MAX, from.unsigned_abs()).take(most) {
            let change = change.map_err(instep_source::Error::from)?;
            reached = signed(change.sequence);
            let datestamp = change.datetime.instant().0;
            self.about_changed(change.uri.as_str(), datestamp)?;
            let resource = match change.change {
                Change::Deleted => None,
                _ => view.resource(snapshot, change.uri.as_str())?,
            };
            match resource {
                Some(resource) => self.index(view, &resource, datestamp, 0)?,
                None => self.delete(change.uri.as_str(), datestamp)?,
            }
        }
        self.set_number(SEQUENCE, Some(reached))?;
        Ok(reached == last)
    }

    /// Returns `true` if the change log leads from the state that the index shows to the present one.
    fn is_in_reach(&self, head: &Head, sets: &str) -> rusqlite::Result<bool> {
        let reach = signed(head.forgotten)..=signed(head.sequence);
        // The resources of a new set are in no change log, nor are those of a set that was renamed.
        Ok(self.number(SEQUENCE)?.is_some_and(|sequence| reach.contains(&sequence))
            && self.number(BASELINED)? == Some(signed(head.baselined))
            && self.names(SETS)?.is_none_or(|names| names == sets))
    }

    /// Returns the names of sets that are kept under a name; `None` if there are none.
    fn names(&self, name: &str) -> rusqlite::Result<Option<String>> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
        statement.query_row([name], |row| row.get(0)).optional()
    }

    /// Keeps the names of sets under a name.
    fn set_names(&self, name: &str, names: &str) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO meta VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute([name, names]).map(drop)
    }

    /// Ends a pass; returns `true` if the change log has what changed meanwhile. A pass may take hours, and publications
    /// shorten the log: then the next one begins.
    fn end_pass(&self, head: &Head, sets: &str) -> rusqlite::Result<bool> {
        self.set_number(SEQUENCE, self.number(PASS_SEQUENCE)?)?;
        self.set_number(BASELINED, self.number(PASS_BASELINED)?)?;
        self.set_number(PASS_SEQUENCE, None)?;
        if let Some(names) = self.names(PASS_SETS)? {
            self.set_names(SETS, &names)?;
        }
        self.is_in_reach(head, sets)
    }

    /// Continues a pass over all resources; returns `true` at its end, if the change log leads on from there.
    fn pass(&self, view: &SourceView, snapshot: &Snapshot, most: usize) -> Result<bool, AnswerError> {
        let pass = self.number(PASS)?.unwrap_or(0);
        let now = snapshot.at().instant().0;
        // Nobody has harvested from here before the first pass, so the time of the resource can be its datestamp. Later
        // passes give each change a new one.
        let is_first = pass == 1;
        let mut statement = self.connection.prepare("SELECT value FROM meta WHERE name = ?1")?;
        let mut rows = statement.query([PASS_KEY])?;
        let mut key: Vec<u8> = rows.next()?.map(|row| row.get(0)).transpose()?.unwrap_or_default();
        drop(rows);
        let mut count = 0;
        for resource in snapshot.resources_after(u64::MAX, &key).take(most) {
            let resource = resource.map_err(instep_source::Error::from)?;
            key.clone_from(&resource.key);
            count += 1;
            let datestamp = if is_first { first_datestamp(&resource, now) } else { now };
            self.index(view, &resource, datestamp, pass)?;
        }
        if count == most {
            self.connection
                .execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", rusqlite::params![PASS_KEY, key])?;
            return Ok(false);
        }
        self.delete_unseen(pass, now)?;
        Ok(self.end_pass(&snapshot.head(), &view.sets().join(" "))?)
    }

    /// Puts a resource into the index. `pass` is the number of the pass that meets it, or 0.
    pub(super) fn index(
        &self,
        view: &SourceView,
        resource: &Resource,
        datestamp: i64,
        pass: i64,
    ) -> Result<(), AnswerError> {
        let uri = resource.uri.as_str();
        let ItemNames { identifier, prefix, mut sets, about } = ItemNames::of(uri, &resource.state);
        let own = view.sets().iter().enumerate().filter(|(number, _)| resource.sets >> number & 1 == 1);
        sets.extend(own.filter(|(_, name)| !name.is_empty()).map(|(_, name)| set_spec(name)));
        let digest = resource.state.digests.strongest().and_then(|digest| digest.bytes());
        let is_in_pass = pass != 0;
        let pass = if is_in_pass { pass } else { self.number(PASS)?.unwrap_or(0) };
        let about = about.as_deref();
        let new = NewRecord { identifier: &identifier, uri, about, datestamp, sets: &sets, digest, pass };
        // An entry of the change log always changes the record, even if only links differ. A pass meets unchanged
        // resources too, and skips those whose record is current.
        if is_in_pass && self.is_current(&new)? {
            return Ok(());
        }
        let read = is_xml(&resource.state).then(|| metadata(view, resource)).transpose();
        let document = match unless_short(read)? {
            Ok(document) => document.flatten(),
            Err(error) => return Ok(self.note_unreadable(&new, &error)?),
        };
        let own = document.map(|(_, document)| match &prefix {
            Some(prefix) => RecordFormat { prefix: prefix.clone(), ..document.format },
            None => document.format,
        });
        let has_dublin_core = own.as_ref().is_some_and(|own| own.prefix == dublin_core::PREFIX);
        let generated = (is_item(&resource.state, prefix.as_deref()) && !has_dublin_core)
            .then(dublin_core::generated_format);
        Ok(self.put(&new, own.as_ref(), generated.as_ref())?)
    }
}

impl RepositoryIndex {
    /// Notes that the document of a resource cannot be read: its records are deleted if it is gone, and stay as they are
    /// known after a fault, which may pass, so that it is read again.
    fn note_unreadable(&self, new: &NewRecord<'_>, error: &io::Error) -> rusqlite::Result<()> {
        let uri = new.uri;
        if is_absence(error) {
            tracing::warn!(uri, %error, "cannot be read, and is left out of the records until it changes");
            return self.delete(uri, new.datestamp);
        }
        tracing::warn!(uri, %error, "cannot be read; its records stay as they are known until it can be");
        self.note_unread(uri)?;
        // Without a digest they count as changed in the next pass, which reads the document again.
        let sql = "UPDATE record SET pass = ?2, digest = NULL, datestamp = max(datestamp, ?3)
                   WHERE uri = ?1 AND is_deleted = 0";
        let row = rusqlite::params![uri, new.pass, new.datestamp];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}

/// Returns the time since which a resource is as it is, as far as that is known: never later than now.
fn first_datestamp(resource: &Resource, now: i64) -> i64 {
    let seconds = |time: Option<DateTime>| time.map(|time| time.instant().0);
    let known = seconds(resource.history.since).max(seconds(resource.state.lastmod));
    known.map_or(now, |known| known.clamp(0, now))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;

    #[test]
    fn o495_the_index_follows_on_after_a_panic_within_its_transaction() {
        let state = tempfile::tempdir().unwrap();
        let index = RepositoryIndex::open(state.path()).unwrap();
        let panicking = || {
            index.in_transaction::<()>(|| {
                index.set_number(SEQUENCE, Some(7))?;
                resume_unwind(Box::new("a fault"))
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
        assert_eq!(index.in_transaction(|| Ok(index.number(SEQUENCE)?)).unwrap(), None);
    }

    #[test]
    fn o551_a_pass_whose_changes_were_forgotten_meanwhile_is_followed_by_another_one() {
        let state = tempfile::tempdir().unwrap();
        let index = RepositoryIndex::open(state.path()).unwrap();
        let ended_at = |forgotten, baselined| {
            index.set_number(PASS_SEQUENCE, Some(5)).unwrap();
            index.set_number(PASS_BASELINED, Some(1)).unwrap();
            let mut head = Head::default();
            (head.sequence, head.forgotten, head.baselined) = (9, forgotten, baselined);
            index.end_pass(&head, "").unwrap()
        };
        assert!(ended_at(5, 1));
        assert!(!ended_at(7, 1), "the changes 6 and 7 are in the log no more");
        assert!(!ended_at(5, 3), "a set was added");
        assert_eq!(index.number(PASS_SEQUENCE).unwrap(), None);
    }

    #[test]
    fn o928_records_get_the_names_of_sets_that_have_other_names_now() {
        let state = tempfile::tempdir().unwrap();
        let index = RepositoryIndex::open(state.path()).unwrap();
        let mut head = Head::default();
        (head.sequence, head.baselined) = (5, 1);
        let pass = |of: &str, now: &str| {
            index.set_number(PASS_SEQUENCE, Some(5)).unwrap();
            index.set_number(PASS_BASELINED, Some(1)).unwrap();
            index.set_names(PASS_SETS, of).unwrap();
            index.end_pass(&head, now).unwrap()
        };
        assert!(pass("a", "a") && index.is_in_reach(&head, "a").unwrap());
        assert!(!index.is_in_reach(&head, "z").unwrap(), "another pass begins");
        assert!(!pass("a", "z"), "it has found the former names");
        assert!(pass("z", "z"));
    }

    #[test]
    fn o677_a_new_resource_whose_document_cannot_be_read_for_a_fault_of_the_disk_is_read_again() {
        let state = tempfile::tempdir().unwrap();
        let index = RepositoryIndex::open(state.path()).unwrap();
        let sets: [String; 0] = [];
        let new = |uri| NewRecord {
            identifier: uri,
            uri,
            about: None,
            datestamp: 5,
            sets: &sets,
            digest: None,
            pass: 0,
        };
        index.note_unreadable(&new("http://x/gone.xml"), &io::ErrorKind::NotFound.into()).unwrap();
        // EIO
        index.note_unreadable(&new("http://x/a.xml"), &io::Error::from_raw_os_error(5)).unwrap();
        assert_eq!(index.unread(9).unwrap(), ["http://x/a.xml"]);
    }

    #[test]
    fn o616_a_fault_of_the_disk_deletes_no_record() {
        let state = tempfile::tempdir().unwrap();
        let index = RepositoryIndex::open(state.path()).unwrap();
        let [prefix, namespace, schema] = ["mods", "urn:mods", ""].map(str::to_owned);
        let format = RecordFormat { prefix, namespace, schema };
        let (identifier, uri) = ("http://x/a.xml", "http://x/a.xml");
        let sets: [String; 0] = [];
        let record = NewRecord {
            identifier,
            uri,
            about: None,
            datestamp: 5,
            sets: &sets,
            digest: Some(b"d"),
            pass: 1,
        };
        index.put(&record, Some(&format), None).unwrap();
        let later = NewRecord { datestamp: 7, pass: 2, ..record };
        let after = |error: io::Error| {
            index.note_unreadable(&later, &error).unwrap();
            index.delete_unseen(2, 8).unwrap();
            let records = index.item(identifier).unwrap();
            let [record] = &records[..] else { panic!("not one record") };
            (record.is_deleted, record.datestamp)
        };
        // EIO
        assert_eq!(after(io::Error::from_raw_os_error(5)), (false, 7));
        assert!(!index.is_current(&later).unwrap(), "the next pass reads it again");
        assert_eq!(after(io::ErrorKind::NotFound.into()), (true, 7));
    }
}
