//! The stamps that a scan compares files with: the rows in order, without an allocation for each.

use super::{
    CatalogueError, FileStamp,
    door::{KeyRange, ReadCatalogue},
};

/// Rows that are fetched at once.
pub(super) const PAGE: usize = 1_024;

/// Rows of the catalogue as far as a scan needs them. It holds no transaction: a scan records only behind the row it
/// stands at.
#[derive(Debug)]
pub(crate) struct Stamps {
    reader: Box<dyn ReadCatalogue>,
    from: Vec<u8>,
    to: Vec<u8>,
    page: StampPage,
    next: usize,
    complete: bool,
}

/// A page of rows.
#[derive(Debug, Default)]
pub(super) struct StampPage {
    keys: Vec<u8>,
    lines: Vec<StampLine>,
}

#[derive(Clone, Copy, Debug)]
struct StampLine {
    start: usize,
    end: usize,
    known: KnownStamp,
}

/// A file as the catalogue knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownStamp {
    /// Its stamp when it was hashed.
    pub(crate) stamp: Option<FileStamp>,
    /// `true` if it is to be hashed again whatever its stamp.
    pub(crate) rehash: bool,
    /// The sets it belongs to.
    pub(crate) sets: u64,
}

impl StampPage {
    /// Adds a row.
    pub(super) fn push(&mut self, key: &[u8], known: KnownStamp) {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.lines.push(StampLine { start, end: self.keys.len(), known });
    }

    fn get(&self, number: usize) -> Option<(&[u8], KnownStamp)> {
        let line = self.lines.get(number)?;
        Some((&self.keys[line.start..line.end], line.known))
    }
}

impl Stamps {
    pub(super) fn new(
        reader: Box<dyn ReadCatalogue>,
        from: Vec<u8>,
        to: Vec<u8>,
    ) -> Result<Self, CatalogueError> {
        let page = StampPage { keys: Vec::new(), lines: Vec::with_capacity(PAGE) };
        let mut stamps = Self { reader, from, to, page, next: 0, complete: false };
        stamps.fetch(false)?;
        Ok(stamps)
    }

    /// The row it stands at, with its key.
    pub(crate) fn peek(&self) -> Option<(&[u8], KnownStamp)> {
        self.page.get(self.next)
    }

    /// Goes to the next row.
    pub(crate) fn advance(&mut self) -> Result<(), CatalogueError> {
        self.next += 1;
        if self.next < self.page.lines.len() || self.complete {
            return Ok(());
        }
        if let Some((last, _)) = self.page.lines.len().checked_sub(1).and_then(|last| self.page.get(last)) {
            self.from.clear();
            self.from.extend_from_slice(last);
        }
        self.fetch(true)
    }

    fn fetch(&mut self, is_after: bool) -> Result<(), CatalogueError> {
        self.page.keys.clear();
        self.page.lines.clear();
        self.next = 0;
        self.reader.stamps(KeyRange { from: &self.from, is_after, to: &self.to }, &mut self.page)?;
        self.complete = self.page.lines.len() < PAGE;
        Ok(())
    }
}
