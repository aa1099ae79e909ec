//! One commit of a harvest: records and the place in their list together, files before it, names after it.

use instep_store::StagedName;
use ring::digest::{SHA256, digest};
use rusqlite::{Connection, params};

use super::{
    super::{HarvestError, folder::HarvestFolder},
    HarvestState, HarvestedKind, ListPosition, position,
};
use crate::{datestamp::seconds, name::name_of, response::OaiRecord};

/// The effect of a record on the held records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordEffect {
    /// The record is held in this state already.
    Same,
    /// The record is new, or was held in another state: it is published as changed.
    Changed,
    /// The record was held and is no longer: it is published as deleted.
    Removed,
}

/// A group of changes that becomes durable together.
///
/// Files are written first, and made durable; then the state records the group; then replacing files get their names.
/// A crash in between is resolved by the next start, because the state names the files in staging, and those to
/// remove.
pub(crate) struct HarvestCommit<'a> {
    pub(super) connection: &'a Connection,
    pub(super) folder: &'a mut HarvestFolder,
    placing: Vec<(StagedName, String)>,
    leaving: Vec<String>,
}

impl HarvestState {
    /// Begins a group of changes.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn begin<'a>(
        &'a mut self,
        folder: &'a mut HarvestFolder,
    ) -> Result<HarvestCommit<'a>, HarvestError> {
        self.connection.execute_batch("BEGIN IMMEDIATE; DELETE FROM placing; DELETE FROM leaving;")?;
        Ok(HarvestCommit { connection: &self.connection, folder, placing: Vec::new(), leaving: Vec::new() })
    }
}

impl HarvestCommit<'_> {
    /// Takes a record of a list.
    ///
    /// # Errors
    /// If disk or state fail.
    pub(crate) fn take(
        &mut self,
        format: &str,
        record: &OaiRecord,
        run: i64,
        with_full_texts: bool,
    ) -> Result<RecordEffect, HarvestError> {
        self.no_longer_owed(format, &record.identifier)?;
        let name = name_of(&record.identifier);
        let path = format!("records/{format}/{name}.xml");
        let about = format!("about/{format}/{name}.xml");
        let held = self.held(&path)?;
        // If a list has a record twice, these are two states; the older one no longer belongs to the record.
        let is_older = held.as_ref().is_some_and(|held| held.is_newer_than(record, run));
        if is_older || self.was_deleted_later(format, record, run)? {
            return Ok(RecordEffect::Same);
        }
        let Some(metadata) = record.metadata.as_ref().filter(|_| !record.is_deleted) else {
            self.note_deletion(format, record, run)?;
            return Ok(if self.remove_item(format, &record.identifier)? {
                RecordEffect::Removed
            } else {
                RecordEffect::Same
            });
        };
        let mut taken = self.keep((&path, HarvestedKind::Record), format, record, metadata, run, held)?;
        let held = self.held(&about)?;
        match &record.about {
            Some(about_text) => {
                let kept =
                    self.keep((&about, HarvestedKind::About), format, record, about_text, run, held)?;
                taken = if kept == RecordEffect::Same { taken } else { RecordEffect::Changed };
            }
            None if held.is_some() => {
                self.remove(&about)?;
                taken = RecordEffect::Changed;
            }
            None => {}
        }
        if with_full_texts && taken == RecordEffect::Changed {
            self.owe_full_texts(format, &record.identifier, metadata)?;
        }
        Ok(taken)
    }

    /// Notes that a list of identifiers has a record, and returns the effect; `None` if the record is not held in this state
    /// and not known to be damaged. A damaged one is requested by itself, so that the whole list need not be read for it.
    ///
    /// # Errors
    /// If disk or state fail.
    pub(crate) fn note(
        &mut self,
        format: &str,
        record: &OaiRecord,
        run: i64,
    ) -> Result<Option<RecordEffect>, HarvestError> {
        let path = format!("records/{format}/{}.xml", name_of(&record.identifier));
        let held = self.held(&path)?;
        if record.is_deleted {
            let is_newer = held.is_some_and(|held| held.is_newer_than(record, run));
            let is_removed = !is_newer && self.remove_item(format, &record.identifier)?;
            return Ok(Some(if is_removed { RecordEffect::Removed } else { RecordEffect::Same }));
        }
        let is_owed = self.is_owed(format, &record.identifier)?;
        let Some(held) = held else { return Ok(is_owed.then_some(RecordEffect::Same)) };
        self.connection
            .prepare_cached("UPDATE resource SET run = ?2 WHERE path = ?1")?
            .execute(params![path, run])?;
        let is_known = is_owed || seconds(&held.datestamp) >= seconds(&record.datestamp);
        Ok(is_known.then_some(RecordEffect::Same))
    }

    /// Returns the number of records of a format that a list did not have, and the number of all that are held.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn count_unseen(&self, format: &str, run: i64) -> Result<(u64, u64), HarvestError> {
        let sql =
            "SELECT count(*) FILTER (WHERE run < ?2), count(*) FROM resource WHERE kind = 0 AND format = ?1";
        let count = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let (unseen, held) = self.connection.prepare_cached(sql)?.query_row(params![format, run], count)?;
        Ok((unseen.unsigned_abs(), held.unsigned_abs()))
    }

    /// Removes the records of a format that a list did not have; returns their number.
    ///
    /// # Errors
    /// If disk or state fail.
    pub(crate) fn remove_unseen(&mut self, format: &str, run: i64) -> Result<u64, HarvestError> {
        let mut removed = 0;
        let mut after = String::new();
        loop {
            let sql = "SELECT path, identifier FROM resource
                       WHERE kind = 0 AND format = ?1 AND run < ?2 AND path > ?3 ORDER BY path LIMIT 512";
            let mut statement = self.connection.prepare_cached(sql)?;
            let unseen =
                statement.query_map(params![format, run, after], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let unseen: Vec<(String, String)> = unseen.collect::<Result<_, _>>()?;
            let Some((last, _)) = unseen.last() else { return Ok(removed) };
            after.clone_from(last);
            for (_, identifier) in &unseen {
                removed += u64::from(self.remove_item(format, identifier)?);
            }
        }
    }

    /// Removes everything of the formats that are not harvested any more.
    ///
    /// # Errors
    /// If disk or state fail.
    pub(crate) fn keep_formats(&mut self, formats: &[String]) -> Result<(), HarvestError> {
        let mut statement = self.connection.prepare("SELECT format FROM list")?;
        let known: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for format in known.iter().filter(|format| !formats.contains(format)) {
            self.remove_unseen(format, i64::MAX)?;
            self.connection.execute("DELETE FROM list WHERE format = ?1", [format])?;
            self.connection.execute("DELETE FROM owed WHERE format = ?1", [format])?;
        }
        Ok(())
    }

    /// Ends the group: it is durable when this returns, with the place in a list if there is one.
    ///
    /// # Errors
    /// If disk or state fail; then nothing of it is held.
    pub(crate) fn finish(self, list: Option<(&str, &ListPosition)>) -> Result<(), HarvestError> {
        if let Some((format, at)) = list {
            position::write(self.connection, format, at)?;
        }
        // This also makes the names durable that the last commit gave, before the state forgets them.
        self.folder.sync()?;
        self.connection.execute_batch("COMMIT")?;
        for (number, path) in &self.placing {
            self.folder.place(*number, path)?;
        }
        for path in &self.leaving {
            self.folder.remove(path)?;
        }
        Ok(())
    }

    fn keep(
        &mut self,
        (path, kind): (&str, HarvestedKind),
        format: &str,
        record: &OaiRecord,
        bytes: &[u8],
        run: i64,
        held: Option<HeldRow>,
    ) -> Result<RecordEffect, HarvestError> {
        let digest = digest(&SHA256, bytes);
        let sets = record.sets.join(" ");
        let is_same_text = held.as_ref().is_some_and(|held| held.digest.as_deref() == Some(digest.as_ref()));
        let is_same = is_same_text && held.as_ref().is_some_and(|held| held.sets == sets);
        if is_same_text {
            self.connection
                .prepare_cached("UPDATE resource SET datestamp = ?2, sets = ?3, run = ?4 WHERE path = ?1")?
                .execute(params![path, record.datestamp, sets, run])?;
            return Ok(if is_same { RecordEffect::Same } else { RecordEffect::Changed });
        }
        if held.is_none() && !self.leaving.iter().any(|leaving| leaving == path) {
            // The name is not used yet, so the file can be written under it directly.
            self.folder.write(path, bytes)?;
        } else {
            let number = self.folder.stage(bytes)?;
            self.place(number, path)?;
        }
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO resource
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'application/xml', NULL, ?7, ?8, ?9, NULL, NULL)",
            )?
            .execute(params![
                path,
                kind.number(),
                format,
                record.identifier,
                bytes.len() as i64,
                digest.as_ref(),
                record.datestamp,
                sets,
                run
            ])?;
        Ok(RecordEffect::Changed)
    }

    /// Removes a record in one format, with everything that is held because of it.
    fn remove_item(&mut self, format: &str, identifier: &str) -> Result<bool, HarvestError> {
        let sql = "SELECT path, kind FROM resource WHERE identifier = ?1 AND format = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let paths = statement.query_map([identifier, format], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let paths: Vec<(String, i64)> = paths.collect::<Result<_, _>>()?;
        for (path, kind) in &paths {
            match HarvestedKind::of(*kind) {
                HarvestedKind::FullText => self.leave_text(format, identifier, path)?,
                HarvestedKind::Record | HarvestedKind::About => self.remove(path)?,
            }
        }
        Ok(!paths.is_empty())
    }

    pub(super) fn remove(&mut self, path: &str) -> Result<(), HarvestError> {
        self.connection.prepare_cached("DELETE FROM resource WHERE path = ?1")?.execute([path])?;
        self.connection.prepare_cached("INSERT OR IGNORE INTO leaving VALUES (?1)")?.execute([path])?;
        if self.placing.iter().any(|(_, placing)| placing == path) {
            self.connection.execute("DELETE FROM placing WHERE path = ?1", [path])?;
            self.placing.retain(|(_, placing)| placing != path);
        }
        self.leaving.push(path.to_owned());
        Ok(())
    }

    pub(super) fn place(&mut self, number: StagedName, path: &str) -> Result<(), HarvestError> {
        if self.leaving.iter().any(|leaving| leaving == path) {
            // The list deleted the record and now adds it again, so its file stays.
            self.connection.execute("DELETE FROM leaving WHERE path = ?1", [path])?;
            self.leaving.retain(|leaving| leaving != path);
        }
        self.connection
            .prepare_cached("INSERT INTO placing VALUES (?1, ?2)")?
            .execute(params![number.get() as i64, path])?;
        self.placing.push((number, path.to_owned()));
        Ok(())
    }
}

impl Drop for HarvestCommit<'_> {
    fn drop(&mut self) {
        // A transaction is open only if the group was not finished.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

/// A row of a resource, as far as a new state is compared with it.
pub(super) struct HeldRow {
    pub(super) digest: Option<Vec<u8>>,
    pub(super) datestamp: String,
    pub(super) sets: String,
    pub(super) run: i64,
}
