//! Finds the requests of an archive with other methods than `GET`, so that their answers are not taken for resources.

use std::io::{self, BufRead, Read as _};

use instep_warc::WarcHead;
use rusqlite::params;

use super::{states::States, visit::keys};

/// The most bytes of a request that are read to find its method.
const MOST_METHOD: u64 = 64;

impl States {
    /// Notes a request with another method than `GET`, whose answer is not a state of the resource.
    ///
    /// # Errors
    /// If the archive cannot be read, or the temporary database fails.
    pub(super) fn take_request(&self, head: &WarcHead, block: &mut dyn BufRead) -> io::Result<()> {
        let mut method = Vec::new();
        let mut block = block;
        (&mut block).take(MOST_METHOD).read_until(b' ', &mut method)?;
        if method == b"GET " || !method.ends_with(b" ") {
            return Ok(());
        }
        let mut note = self
            .seen
            .prepare_cached("INSERT OR IGNORE INTO other_request VALUES (?1)")
            .map_err(io::Error::other)?;
        keys(head).iter().try_for_each(|key| note.execute(params![key]).map(drop)).map_err(io::Error::other)
    }

    /// Returns `true` if a visit is the answer to a request with another method than `GET`.
    pub(super) fn answers_other_method(&self, keys: &str) -> rusqlite::Result<bool> {
        let mut find = self.seen.prepare_cached("SELECT 1 FROM other_request WHERE key = ?1")?;
        for key in keys.lines() {
            if find.exists([key])? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
