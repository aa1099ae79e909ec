//! The index of the packs of a copy in object storage (CDXJ), with which tools for web archives find resources in them.

use std::{
    fs::{self, Permissions},
    io::{BufWriter, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use anyhow::{Context, bail};
use instep_destination::{Contents, ObjectLayout};
use instep_store::parent_folder;
use instep_warc::CdxjLine;
use rusqlite::Connection;

use super::folder::sync_folder_of;

/// An index while its lines are gathered. They are kept in a temporary database, because they do not come in the order
/// of the index.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    lines: Connection,
}

impl IndexWriter {
    /// Begins the index of a copy.
    ///
    /// Errors: the file exists, or the copy has no packs.
    pub(crate) fn begin(contents: &Contents, file: &Path) -> anyhow::Result<Self> {
        if file.exists() {
            bail!("{} is there already; name a file that is not", file.display());
        }
        if contents.place().is_none_or(|place| place.layout != ObjectLayout::Packs) {
            bail!("{} has no packs, so there is nothing to index", contents.folder().display());
        }
        // A database without a name is a temporary file, which SQLite removes with the connection.
        let lines = Connection::open("")?;
        lines.execute_batch("CREATE TABLE line (text TEXT NOT NULL); BEGIN")?;
        Ok(Self { lines })
    }

    /// Adds a line.
    ///
    /// Errors: the temporary database cannot be written.
    pub(crate) fn add(&self, line: &CdxjLine) -> anyhow::Result<()> {
        self.lines.prepare_cached("INSERT INTO line VALUES (?1)")?.execute([line.as_str()])?;
        Ok(())
    }

    /// Writes the lines in order and gives the file its name. Returns its length in bytes.
    ///
    /// Errors: the file cannot be written.
    pub(crate) fn finish(self, file: &Path) -> anyhow::Result<u64> {
        let folder = parent_folder(file);
        let failed = || format!("Cannot write {}", file.display());
        // Other programs read the index: a temporary file is for its owner only.
        let mode = Permissions::from_mode(0o666);
        let unfinished =
            tempfile::Builder::new().permissions(mode).tempfile_in(folder).with_context(failed)?;
        let mut out = BufWriter::new(unfinished);
        let mut statement = self.lines.prepare("SELECT text FROM line ORDER BY text")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            out.write_all(row.get_ref(0)?.as_str()?.as_bytes()).with_context(failed)?;
            out.write_all(b"\n").with_context(failed)?;
        }
        let unfinished = out.into_inner().map_err(|error| error.into_error()).with_context(failed)?;
        unfinished.as_file().sync_all().with_context(failed)?;
        unfinished.persist_noclobber(file).with_context(failed)?;
        sync_folder_of(file).with_context(failed)?;
        Ok(fs::metadata(file).with_context(failed)?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o678_an_index_has_the_permissions_of_any_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let [index, other] = ["index.cdxj", "other"].map(|name| folder.path().join(name));
        let lines = Connection::open("").unwrap();
        lines.execute_batch("CREATE TABLE line (text TEXT NOT NULL); BEGIN").unwrap();
        assert_eq!(IndexWriter { lines }.finish(&index).unwrap(), 0);
        fs::write(&other, "").unwrap();
        let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode(&index), mode(&other));
    }
}
