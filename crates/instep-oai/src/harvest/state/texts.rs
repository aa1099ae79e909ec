//! The full texts of a harvest, as a commit takes them.

use std::io;

use instep_store::StagedName;
use rusqlite::{OptionalExtension as _, params};

use super::{super::HarvestError, HarvestedKind, kept::HarvestCommit};
use crate::{
    full_text::{MOST_FULL_TEXTS, full_texts},
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
    pub(crate) fn note_current_text(&mut self, path: &str) -> Result<(), HarvestError> {
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
        let named = full_texts(metadata);
        if named.len() == MOST_FULL_TEXTS {
            tracing::warn!(
                identifier,
                "only the first {MOST_FULL_TEXTS} full texts of the record are fetched"
            );
        }
        for uri in named {
            let file = name_of_file(uri.as_str());
            let (mut path, mut number) = (format!("files/{name}/{file}"), paths.len().max(1));
            while paths.contains(&path) || self.has_another_file(&path, format, identifier, uri.as_str())? {
                number += 1;
                path = format!("files/{name}/{number}-{file}");
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
        if let Some(other) = self.other_format_with(&url, format, identifier)? {
            let sql = "UPDATE resource SET format = ?2 WHERE path = ?1";
            self.connection.prepare_cached(sql)?.execute([path, &*other])?;
            return Ok(());
        }
        self.remove(path)
    }

    /// Returns `true` if a path is that of a full text at another URL, which the record names in another format.
    fn has_another_file(
        &self,
        path: &str,
        format: &str,
        identifier: &str,
        url: &str,
    ) -> Result<bool, HarvestError> {
        let sql = "SELECT format, url FROM resource WHERE path = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let held = self.connection.prepare_cached(sql)?.query_row([path], read).optional()?;
        match held {
            Some((other, held)) if held != url => {
                Ok(other != format || self.other_format_with(&held, format, identifier)?.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Returns another format in which a record names a full text; `None` if no other one does.
    fn other_format_with(
        &self,
        url: &str,
        format: &str,
        identifier: &str,
    ) -> Result<Option<String>, HarvestError> {
        let sql = "SELECT path, format FROM resource WHERE identifier = ?1 AND format <> ?2 AND kind = 0";
        let mut statement = self.connection.prepare_cached(sql)?;
        let others = statement.query_map([identifier, format], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        for other in others {
            let (record, other) = other?;
            if full_texts(&self.metadata_at(&record)?).iter().any(|named| named.as_str() == url) {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    fn full_texts_of(&self, format: &str, identifier: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT path FROM resource WHERE identifier = ?1 AND format = ?2 AND kind = 2";
        self.connection.prepare_cached(sql)?.query_map([identifier, format], |row| row.get(0))?.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{super::folder::HarvestFolder, HarvestState};
    use crate::response::OaiRecord;

    #[test]
    fn o487_full_texts_of_two_formats_with_the_same_file_name_have_a_path_each() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = HarvestFolder::open(place.path()).unwrap();
        let mut state = HarvestState::open(place.path()).unwrap();
        let mut take = |format: &str, run: i64, urls: &[&str]| {
            let named: String = urls.iter().map(|url| format!("<identifier>{url}</identifier>")).collect();
            let record = OaiRecord {
                identifier: "a".to_owned(),
                datestamp: format!("2026-01-01T00:00:{run:02}Z"),
                metadata: Some(format!("<dc>{named}</dc>").into_bytes()),
                ..OaiRecord::default()
            };
            let mut commit = state.begin(&mut folder).unwrap();
            commit.take(format, &record, run, true).unwrap();
            commit.finish(None).unwrap();
            let sql = "SELECT path, url FROM resource WHERE kind = 2 ORDER BY path";
            let mut statement = state.connection.prepare(sql).unwrap();
            let held = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            held.collect::<Result<Vec<(String, String)>, _>>().unwrap()
        };
        let file = |name: &str, url: &str| (format!("files/a/{name}"), url.to_owned());
        let (one, two) = ("http://x/1/text.pdf", "http://x/2/text.pdf");
        assert_eq!(take("oai_dc", 1, &[one]), [file("text.pdf", one)]);
        assert_eq!(take("mods", 1, &[two]), [file("2-text.pdf", two), file("text.pdf", one)]);
        assert_eq!(take("mods", 2, &[two, one]), [file("2-text.pdf", two), file("text.pdf", one)]);
        // The record no longer names the first one in the format that it came with, but in the other one.
        let three = "http://x/3/text.pdf";
        let all = [file("2-text.pdf", two), file("3-text.pdf", three), file("text.pdf", one)];
        assert_eq!(take("oai_dc", 2, &[three]), all);
    }
}
