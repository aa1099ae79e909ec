//! The full texts of a harvest, as a commit takes them.

use std::io;

use instep_store::StagedName;
use rusqlite::params;

use super::{super::HarvestError, HarvestedKind, kept::HarvestCommit};
use crate::{
    full_text::full_texts,
    name::{name_of, name_of_file},
};

/// The records whose metadata is read at a time to find their full texts.
const AT_ONCE: i64 = 512;

/// A full text in staging.
#[derive(Debug)]
pub(crate) struct FetchedText {
    pub(crate) staged: StagedName,
    pub(crate) length: u64,
    pub(crate) digest: Vec<u8>,
    pub(crate) media_type: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
}

impl HarvestCommit<'_> {
    /// Keeps a full text that was fetched and staged.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn keep_text(&mut self, path: &str, text: FetchedText) -> Result<(), HarvestError> {
        self.connection.execute(
            "UPDATE resource SET length = ?2, digest = ?3, media_type = ?4, etag = ?5, modified = ?6, run = 1
             WHERE path = ?1",
            params![path, text.length as i64, text.digest, text.media_type, text.etag, text.modified],
        )?;
        self.place(text.staged, path)
    }

    /// Notes that a full text is still as it is held.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn text_is_current(&mut self, path: &str) -> Result<(), HarvestError> {
        self.connection.execute("UPDATE resource SET run = 1 WHERE path = ?1", [path])?;
        Ok(())
    }

    /// Removes a full text that is not there any more.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn remove_text(&mut self, path: &str) -> Result<(), HarvestError> {
        self.remove(path)
    }

    /// Records that full texts are wanted, or that they are not. When they begin to be wanted, those of all records that are
    /// held are to be fetched: lists have only the records that are new since.
    ///
    /// # Errors
    /// If disk or state fail.
    pub(crate) fn want_full_texts(&mut self, are_wanted: bool) -> Result<(), HarvestError> {
        let sql = "SELECT count(*) > 0 FROM meta WHERE name = 'full texts'";
        if self.connection.query_row(sql, [], |row| row.get::<_, bool>(0))? == are_wanted {
            return Ok(());
        }
        if !are_wanted {
            self.connection.execute("DELETE FROM meta WHERE name = 'full texts'", [])?;
            return Ok(());
        }
        let mut after = String::new();
        loop {
            let sql = "SELECT path, format, identifier FROM resource
                       WHERE kind = 0 AND path > ?1 ORDER BY path LIMIT ?2";
            let mut statement = self.connection.prepare_cached(sql)?;
            let held = statement.query_map(params![after, AT_ONCE], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            })?;
            let held: Vec<_> = held.collect::<Result<_, _>>()?;
            let Some((last, ..)) = held.last() else { break };
            after.clone_from(last);
            for (path, format, identifier) in &held {
                let metadata = self.metadata_at(path)?;
                self.owe_full_texts(format, identifier, &metadata)?;
            }
        }
        self.connection.execute("INSERT INTO meta VALUES ('full texts', 'wanted')", [])?;
        Ok(())
    }

    /// Returns the metadata of a record that is held; nothing if somebody removed its file.
    fn metadata_at(&self, path: &str) -> io::Result<Vec<u8>> {
        match self.folder.read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        }
    }

    /// Records the full texts that a record names, to be fetched, and removes those that it no longer names.
    pub(super) fn owe_full_texts(
        &mut self,
        format: &str,
        identifier: &str,
        metadata: &[u8],
    ) -> Result<(), HarvestError> {
        let name = name_of(identifier);
        let mut paths: Vec<String> = Vec::new();
        for uri in full_texts(metadata) {
            let file = name_of_file(uri.as_str());
            let mut path = format!("files/{name}/{file}");
            if paths.contains(&path) {
                path = format!("files/{name}/{}-{file}", paths.len() + 1);
            }
            self.connection
                .prepare_cached(
                    "INSERT INTO resource VALUES (?1, ?2, ?3, ?4, NULL, NULL, NULL, ?5, NULL, NULL, 0, NULL, NULL)
                     ON CONFLICT (path) DO UPDATE SET run = 0, etag = CASE WHEN url = ?5 THEN etag END,
                     modified = CASE WHEN url = ?5 THEN modified END, url = ?5",
                )?
                .execute(params![path, HarvestedKind::FullText.number(), format, identifier, uri.as_str()])?;
            paths.push(path);
        }
        for path in self.full_texts_of(format, identifier)? {
            if !paths.contains(&path) {
                self.leave_text(format, identifier, &path)?;
            }
        }
        Ok(())
    }

    /// Removes a full text that a record no longer names in one format. If the record names it in another one, it is held
    /// because of that from now on.
    pub(super) fn leave_text(
        &mut self,
        format: &str,
        identifier: &str,
        path: &str,
    ) -> Result<(), HarvestError> {
        let sql = "SELECT url FROM resource WHERE path = ?1";
        let url: String = self.connection.prepare_cached(sql)?.query_row([path], |row| row.get(0))?;
        let sql = "SELECT path, format FROM resource WHERE identifier = ?1 AND format <> ?2 AND kind = 0";
        let mut statement = self.connection.prepare_cached(sql)?;
        let others = statement.query_map([identifier, format], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        let others: Vec<_> = others.collect::<Result<_, _>>()?;
        for (record, other) in others {
            if full_texts(&self.metadata_at(&record)?).iter().any(|named| named.as_str() == url) {
                let sql = "UPDATE resource SET format = ?2 WHERE path = ?1";
                self.connection.prepare_cached(sql)?.execute([path, &*other])?;
                return Ok(());
            }
        }
        self.remove(path)
    }

    fn full_texts_of(&self, format: &str, identifier: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT path FROM resource WHERE identifier = ?1 AND format = ?2 AND kind = 2";
        self.connection.prepare_cached(sql)?.query_map([identifier, format], |row| row.get(0))?.collect()
    }
}
