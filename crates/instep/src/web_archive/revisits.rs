//! Revisit records: they have no body and name the body of another record, which may come later in the archive.

use std::io;

use rusqlite::params;

use super::{
    states::{States, UnpackedState},
    visit::Visit,
};

/// A revisit record.
#[derive(Debug)]
pub(super) struct Revisit {
    pub(super) visit: Visit,
    /// The digest of the body, in the form by which bodies are found.
    pub(super) digest: String,
    pub(super) media_type: Option<String>,
    pub(super) lastmod: Option<String>,
    /// `true` if the server answered only that nothing had changed.
    pub(super) is_unmodified: bool,
}

impl States {
    /// Takes a revisit. If its body is not known yet, keeps it for [`Self::settle_revisits`].
    ///
    /// # Errors
    /// If the temporary database fails.
    pub(super) fn take_revisit(&self, revisit: Revisit, place: &str) -> io::Result<()> {
        if self.put_revisit(&revisit)? {
            return Ok(());
        }
        let Revisit { visit: Visit { uri, date, keys }, digest, media_type, lastmod, is_unmodified } =
            revisit;
        let sql = "INSERT INTO revisit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let row = params![uri, date, keys, digest, media_type, lastmod, is_unmodified, place];
        self.seen.execute(sql, row).map(drop).map_err(io::Error::other)
    }

    /// Takes the revisits whose bodies came after them. It is called after all records. Passes a fault for each revisit
    /// whose body is not in the archive to `report`.
    ///
    /// # Errors
    /// If the temporary database fails, or a body cannot be read.
    pub(super) fn settle_revisits(&self, report: &mut dyn FnMut(String)) -> io::Result<()> {
        let mut statement =
            self.seen.prepare("SELECT * FROM revisit ORDER BY date").map_err(io::Error::other)?;
        let mut rows = statement.query([]).map_err(io::Error::other)?;
        while let Some(row) = rows.next().map_err(io::Error::other)? {
            let read = || {
                let visit = Visit { uri: row.get(0)?, date: row.get(1)?, keys: row.get(2)? };
                let (digest, media_type, lastmod) = (row.get(3)?, row.get(4)?, row.get(5)?);
                let revisit = Revisit { visit, digest, media_type, lastmod, is_unmodified: row.get(6)? };
                Ok::<_, rusqlite::Error>((revisit, row.get::<_, String>(7)?))
            };
            let (revisit, place) = read().map_err(io::Error::other)?;
            // An answer 304 is no fault if another record has a state of the resource.
            let is_other = || self.answers_other_method(&revisit.visit.keys).map_err(io::Error::other);
            let is_known = || Ok::<_, io::Error>(revisit.is_unmodified && self.knows(&revisit.visit.uri)?);
            if !self.put_revisit(&revisit)? && !is_known()? && !is_other()? {
                report(format!("{place}: the archive does not have the body of {}", revisit.visit.uri));
            }
        }
        Ok(())
    }

    /// Stores the state that a revisit found. Returns `false` if its body is not known.
    fn put_revisit(&self, revisit: &Revisit) -> io::Result<bool> {
        let Some((body, length)) = self.payload(&revisit.digest)? else { return Ok(false) };
        let (media_type, lastmod) = (revisit.media_type.clone(), revisit.lastmod.clone());
        self.put(&revisit.visit, &UnpackedState { body, length, media_type, lastmod })?;
        Ok(true)
    }

    fn knows(&self, uri: &str) -> io::Result<bool> {
        let find = || self.seen.prepare_cached("SELECT 1 FROM visit WHERE uri = ?1")?.exists([uri]);
        find().map_err(io::Error::other)
    }
}
