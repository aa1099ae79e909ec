//! The catalogue at one moment, read while others write.

use std::{mem, path::Path, sync::Arc, vec};

use resourcesync::DateTime;

use super::{
    CatalogueError, ChangeRecord, Head, Resource, ResourceTotals,
    codec::SharedTypes,
    engine::{CatalogueEngine, ReadCatalogue},
};

/// The rows of a page; each page begins after the key of the last row (S13).
const PAGE: usize = 512;

/// The catalogue at one moment, without anything that is recorded later.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) reader: Box<dyn ReadCatalogue>,
    engine: Arc<dyn CatalogueEngine>,
    head: Head,
    at: DateTime,
}

impl Snapshot {
    /// Begins to read. The caller provides the time, and ensures that nothing is recorded meanwhile.
    pub(super) fn begin(engine: &Arc<dyn CatalogueEngine>, at: DateTime) -> Result<Self, CatalogueError> {
        let (reader, head) = engine.moment()?;
        Ok(Self { reader, engine: Arc::clone(engine), head, at })
    }

    /// Returns another reader of the same moment, for another thread; `None` if something was recorded meanwhile.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn again(&self) -> Result<Option<Self>, CatalogueError> {
        let other = Self::begin(&self.engine, self.at)?;
        Ok((other.head == self.head).then_some(other))
    }

    /// Returns the time of the snapshot by the clock of the Source. It includes each change up to this time, and no
    /// later one.
    pub fn at(&self) -> DateTime {
        self.at
    }

    /// Returns the file of the catalogue, or the URL of its database.
    pub(crate) fn place(&self) -> &Path {
        self.engine.place()
    }

    /// Returns the position of the catalogue.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns the resources that belong to a set in the mask, in the order of their keys.
    pub fn resources(&self, sets: u64) -> ResourceRows<'_> {
        self.resources_after(sets, &[])
    }

    /// Returns the resources after a key.
    pub fn resources_after(&self, sets: u64, key: &[u8]) -> ResourceRows<'_> {
        ResourceRows {
            snapshot: self,
            sets,
            after: key.to_owned(),
            page: Vec::new().into_iter(),
            types: SharedTypes::default(),
            done: false,
        }
    }

    /// Returns the changes after a sequence number in the sets of the mask, in order.
    pub fn changes(&self, sets: u64, after: u64) -> ChangeRows<'_> {
        ChangeRows {
            snapshot: self,
            sets,
            after,
            page: Vec::new().into_iter(),
            types: SharedTypes::default(),
            done: false,
        }
    }

    /// Returns the number of these changes, by one scan of an index.
    pub fn count_changes(&self, sets: u64, after: u64) -> Result<u64, CatalogueError> {
        self.reader.count_changes(sets, after)
    }

    /// Returns the last sequence number whose change is older than a datetime, by binary search: both grow together.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn sequence_before(&self, datetime: DateTime) -> Result<u64, CatalogueError> {
        self.reader.sequence_before(datetime, (self.head.forgotten, self.head.sequence))
    }

    /// Returns the totals of one set, which are maintained and not counted.
    pub fn totals(&self, set: u8) -> Result<ResourceTotals, CatalogueError> {
        self.reader.totals(set)
    }

    /// Returns one resource.
    pub fn resource(&self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        Ok(self.reader.resources(&[key])?.pop().flatten())
    }

    /// Returns the resources with some keys, each at its place.
    pub(crate) fn resources_of(&self, keys: &[&[u8]]) -> Result<Vec<Option<Resource>>, CatalogueError> {
        self.reader.resources(keys)
    }

    /// Returns a value that a publication stored under a name.
    pub fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
        self.reader.meta(name)
    }
}

/// The resources in the order of their keys. Memory does not grow with their number.
#[derive(Debug)]
pub struct ResourceRows<'a> {
    snapshot: &'a Snapshot,
    sets: u64,
    after: Vec<u8>,
    page: vec::IntoIter<Resource>,
    types: SharedTypes,
    done: bool,
}

impl ResourceRows<'_> {
    fn fetch(&mut self) -> Result<Vec<Resource>, CatalogueError> {
        let page = self.snapshot.reader.resources_after(self.sets, &self.after, PAGE, &mut self.types)?;
        if let Some(last) = page.last() {
            self.after.clone_from(&last.key);
        }
        Ok(page)
    }
}

/// The entries of the change log in order. Memory does not grow with their number.
#[derive(Debug)]
pub struct ChangeRows<'a> {
    snapshot: &'a Snapshot,
    sets: u64,
    after: u64,
    page: vec::IntoIter<ChangeRecord>,
    types: SharedTypes,
    done: bool,
}

impl ChangeRows<'_> {
    fn fetch(&mut self) -> Result<Vec<ChangeRecord>, CatalogueError> {
        let page = self.snapshot.reader.changes_after(self.sets, self.after, PAGE, &mut self.types)?;
        if let Some(last) = page.last() {
            self.after = last.sequence;
        }
        Ok(page)
    }
}

/// An iterator over the rows of pages, until a page is short or fails.
macro_rules! paged {
    ($pages:ident, $item:ident) => {
        impl Iterator for $pages<'_> {
            type Item = Result<$item, CatalogueError>;

            fn next(&mut self) -> Option<Self::Item> {
                if let Some(item) = self.page.next() {
                    return Some(Ok(item));
                }
                if mem::replace(&mut self.done, true) {
                    return None;
                }
                match self.fetch() {
                    Ok(page) => {
                        self.done = page.len() < PAGE;
                        self.page = page.into_iter();
                        self.page.next().map(Ok)
                    }
                    Err(error) => Some(Err(error)),
                }
            }
        }
    };
}
paged!(ResourceRows, Resource);
paged!(ChangeRows, ChangeRecord);
