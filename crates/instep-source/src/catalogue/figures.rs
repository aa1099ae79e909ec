//! Figures over many rows, for pages.

use super::{CatalogueError, Snapshot, counters::HOUR, error::Doing};

const READING: &str = "counting";

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
        let mut statement = self
            .connection()?
            .prepare_cached("SELECT hour, kind, changes FROM activity WHERE hour >= ?1")
            .doing(READING)?;
        let mut rows = statement.query([first * hours]).doing(READING)?;
        let mut counts = vec![ChangeCounts::default(); count];
        while let Some(row) = rows.next().doing(READING)? {
            let hour: i64 = row.get(0).doing(READING)?;
            let place = usize::try_from(hour.div_euclid(hours) - first).unwrap_or(usize::MAX);
            let Some(counts) = counts.get_mut(place) else { continue };
            let changes = row.get::<_, i64>(2).doing(READING)? as u64;
            match row.get::<_, i64>(1).doing(READING)? {
                1 => counts.created += changes,
                3 => counts.deleted += changes,
                _ => counts.updated += changes,
            }
        }
        Ok(counts)
    }

    /// Calls the function with each resource of the sets in the mask, in the order of the keys. Only the columns that
    /// figures need are read.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn for_each_outline(
        &self,
        sets: u64,
        mut visit: impl FnMut(ResourceOutline<'_>),
    ) -> Result<(), CatalogueError> {
        let mut statement = self
            .connection()?
            .prepare_cached(
                "SELECT key, uri, length, media_type FROM resource WHERE sets & ?1 != 0 ORDER BY key",
            )
            .doing(READING)?;
        let mut rows = statement.query([sets as i64]).doing(READING)?;
        while let Some(row) = rows.next().doing(READING)? {
            let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
            visit(ResourceOutline {
                key: row.get_ref(0).ok().and_then(|value| value.as_blob().ok()).unwrap_or_default(),
                uri: text(1).unwrap_or_default(),
                length: row.get::<_, Option<i64>>(2).doing(READING)?.map(|length| length as u64),
                media_type: text(3),
            });
        }
        Ok(())
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

/// The part of a resource that figures are made of.
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

#[cfg(test)]
mod tests {
    use resourcesync::Uri;

    use super::ChangeCounts;
    use crate::catalogue::{Catalogue, Observation, Resource};

    #[test]
    fn finding_d14_changes_are_counted_by_kind_and_outlive_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
        let resource = |name: &str| {
            let uri = Uri::parse(&format!("http://x/{name}")).unwrap();
            Resource::new([b"\x01", name.as_bytes()].concat(), uri)
        };
        catalogue.record(vec![Observation::Found(resource("before"))]).unwrap();
        catalogue.complete_baseline(1).unwrap();
        let created = ["a", "b", "c"].map(|name| Observation::Found(resource(name)));
        catalogue.record(created.into()).unwrap();
        catalogue.record(vec![Observation::Changed(resource("a"))]).unwrap();
        catalogue.record(vec![Observation::Gone { key: b"\x01b".to_vec() }]).unwrap();
        catalogue.forget_changes(u64::MAX).unwrap();

        let counts = catalogue.snapshot().unwrap().activity(24, 30).unwrap();
        // Midnight may have passed between the changes.
        let sum = |kind: fn(&ChangeCounts) -> u64| counts.iter().map(kind).sum::<u64>();
        assert_eq!(counts.len(), 30);
        assert_eq!((sum(|day| day.created), sum(|day| day.updated), sum(|day| day.deleted)), (3, 1, 1));
        assert_eq!(sum(ChangeCounts::total), 5);
    }
}
