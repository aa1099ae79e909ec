//! The full texts of a harvest, as a commit takes them.

use instep_store::StagedName;
use rusqlite::params;

use super::{super::HarvestError, HarvestedKind, kept::HarvestCommit};
use crate::{full_text::full_texts, name::name_of_file, response::OaiRecord};

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

    /// Records the full texts that a record names, to be fetched, and removes those that it no longer names.
    pub(super) fn owe_full_texts(
        &mut self,
        format: &str,
        record: &OaiRecord,
        metadata: &[u8],
        name: &str,
    ) -> Result<(), HarvestError> {
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
                .execute(params![path, HarvestedKind::FullText.number(), format, record.identifier, uri.as_str()])?;
            paths.push(path);
        }
        for path in self.full_texts_of(format, &record.identifier)? {
            if !paths.contains(&path) {
                self.remove(&path)?;
            }
        }
        Ok(())
    }

    fn full_texts_of(&self, format: &str, identifier: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT path FROM resource WHERE identifier = ?1 AND format = ?2 AND kind = 2";
        self.connection.prepare_cached(sql)?.query_map([identifier, format], |row| row.get(0))?.collect()
    }
}
