//! The stamps that a scan compares files with: the rows in order, without an allocation for each.

use super::{
    CatalogueError,
    engine::{KeyRange, ReadCatalogue},
    stamp_page::{KnownStamp, PAGE, StampPage},
};

/// The columns of the catalogue that a scan needs, in the order of keys. They need no transaction, because a scan
/// writes only rows that it has passed.
#[derive(Debug)]
pub(crate) struct Stamps {
    reader: Box<dyn ReadCatalogue>,
    from: Vec<u8>,
    to: Vec<u8>,
    page: StampPage,
    next: usize,
    complete: bool,
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

    /// Returns the present row with its key.
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
