//! Documents in memory, for tests and for applications that serve them themselves.

use std::{collections::BTreeMap, io::Cursor};

use super::{Rank, Sink, StageBody};
use crate::Error;

/// Keeps documents in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemorySink {
    /// The documents in place, by their names.
    pub documents: BTreeMap<String, Vec<u8>>,
    staged: Vec<(Rank, String, Vec<u8>)>,
}

impl MemorySink {
    /// Returns a sink without documents.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns a document in place, as text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.documents.get(name)?).ok()
    }
}

impl Sink for MemorySink {
    fn stage(&mut self, name: &str, rank: Rank, body: StageBody<'_>) -> Result<u64, Error> {
        let mut stage = Cursor::new(Vec::new());
        body(&mut stage)?;
        let bytes = stage.into_inner();
        self.staged.retain(|(_, staged, _)| staged != name);
        let length = bytes.len() as u64;
        self.staged.push((rank, name.to_owned(), bytes));
        Ok(length)
    }

    fn preserve(&mut self, name: &str, under: &str) -> Result<Option<u64>, Error> {
        let Some(bytes) = self.documents.get(name).cloned() else { return Ok(None) };
        let length = bytes.len() as u64;
        self.staged.push((Rank::Part, under.to_owned(), bytes));
        Ok(Some(length))
    }

    fn holds(&self, name: &str, length: u64) -> Result<bool, Error> {
        let staged = self.staged.iter().rev().find(|(_, staged, _)| staged == name).map(|(.., bytes)| bytes);
        Ok(staged.or(self.documents.get(name)).is_some_and(|bytes| bytes.len() as u64 == length))
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.documents.get(name).cloned())
    }

    fn commit(&mut self, remove: &[String]) -> Result<Vec<(String, u64)>, Error> {
        self.staged.sort_by_key(|(rank, ..)| *rank);
        let mut placed = Vec::with_capacity(self.staged.len());
        for (_, name, bytes) in self.staged.drain(..) {
            placed.push((name.clone(), bytes.len() as u64));
            self.documents.insert(name, bytes);
        }
        for name in remove {
            self.documents.remove(name);
        }
        Ok(placed)
    }
}
