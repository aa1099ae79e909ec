//! Statistics over many rows, for pages.

use super::{
    CatalogueError, Snapshot,
    counters::{HOUR, HourlyChanges},
};

impl Snapshot {
    /// Returns the number of changes of each kind in each of the last `count` spans of hours, the oldest first; the last
    /// one has not ended. Counts are kept for 400 days, the changes themselves only as long as a document needs them.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn activity(&self, hours: u32, count: usize) -> Result<Vec<ChangeCounts>, CatalogueError> {
        let hours = i64::from(hours.max(1));
        let last = self.at().unix_micros().div_euclid(HOUR).div_euclid(hours);
        let first = last - count as i64 + 1;
        let mut counts = vec![ChangeCounts::default(); count];
        for HourlyChanges { hour, kind, changes } in self.reader.activity(first * hours)? {
            let place = usize::try_from(hour.div_euclid(hours) - first).unwrap_or(usize::MAX);
            let Some(counts) = counts.get_mut(place) else { continue };
            match kind {
                1 => counts.created += changes,
                3 => counts.deleted += changes,
                _ => counts.updated += changes,
            }
        }
        Ok(counts)
    }

    /// Calls a function with each resource of the sets in the mask, in the order of the keys. Reads only the columns
    /// that statistics need.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn for_each_outline(
        &self,
        sets: u64,
        mut visit: impl FnMut(ResourceOutline<'_>),
    ) -> Result<(), CatalogueError> {
        self.reader.outlines(sets, &mut visit)
    }
}

/// The number of changes of each kind in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeCounts {
    /// Resources that were created.
    pub created: u64,
    /// Resources with new bytes.
    pub updated: u64,
    /// Resources that were deleted.
    pub deleted: u64,
}

impl ChangeCounts {
    /// Returns the number of all changes.
    pub fn total(&self) -> u64 {
        self.created + self.updated + self.deleted
    }
}

/// The columns of a resource that statistics need.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ResourceOutline<'a> {
    /// Its key in the catalogue.
    pub key: &'a [u8],
    /// Its URI.
    pub uri: &'a str,
    /// Its bytes, if known.
    pub length: Option<u64>,
    /// Its media type, if known.
    pub media_type: Option<&'a str>,
}
