//! The newest activity of each resource. They are gathered in a temporary database, so that memory does not grow with
//! their number.

use resourcesync::{Change, DateTime};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::Value;

const TABLES: &str = "
CREATE TABLE former (uri TEXT NOT NULL PRIMARY KEY, time TEXT NOT NULL, change INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE newest (uri TEXT NOT NULL PRIMARY KEY, instant INTEGER NOT NULL, time TEXT NOT NULL, change INTEGER NOT NULL)
WITHOUT ROWID;
CREATE TABLE seen (
    uri TEXT NOT NULL, number INTEGER NOT NULL, instant INTEGER NOT NULL, time TEXT NOT NULL, change INTEGER NOT NULL,
    PRIMARY KEY (uri, number)
) WITHOUT ROWID;
BEGIN";

/// An activity: the change of a resource at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResourceActivity {
    pub(super) uri: String,
    pub(super) time: DateTime,
    pub(super) change: Change,
}

impl ResourceActivity {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let time = DateTime::parse(row.get_ref(1)?.as_str()?).map_err(|_| rusqlite::Error::InvalidQuery)?;
        Ok(Self { uri: row.get(0)?, time, change: change_of(row.get(2)?) })
    }
}

fn number_of(change: &Change) -> i64 {
    match change {
        Change::Created => 0,
        Change::Deleted => 2,
        _ => 1,
    }
}

fn change_of(number: i64) -> Change {
    match number {
        0 => Change::Created,
        2 => Change::Deleted,
        _ => Change::Updated,
    }
}

/// The newest activities while they are gathered, and beside them those of the former collection.
pub(super) struct NewestActivities(Connection);

impl NewestActivities {
    /// Begins without activities, in a database that is removed with this value.
    pub(super) fn begin() -> rusqlite::Result<Self> {
        let connection = Connection::open("")?;
        connection.execute_batch(TABLES)?;
        Ok(Self(connection))
    }

    /// Takes the activities of a page of the former collection.
    pub(super) fn take_former_page(&self, page: &Value) -> rusqlite::Result<()> {
        for item in page["orderedItems"].as_array().into_iter().flatten() {
            let change = match item["type"].as_str() {
                Some("Create") => Change::Created,
                Some("Delete") => Change::Deleted,
                _ => Change::Updated,
            };
            let time = item["endTime"].as_str().and_then(|time| DateTime::parse(time).ok());
            if let (Some(uri), Some(time)) = (item["object"]["id"].as_str(), time) {
                self.take_former(&ResourceActivity { uri: uri.to_owned(), time, change })?;
            }
        }
        Ok(())
    }

    /// Takes an activity of the former collection.
    fn take_former(&self, activity: &ResourceActivity) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO former VALUES (?1, ?2, ?3)";
        let ResourceActivity { uri, time, change } = activity;
        self.0.prepare_cached(sql)?.execute(params![uri, time.to_string(), number_of(change)])?;
        Ok(())
    }

    /// Returns the activity of a resource in the former collection.
    pub(super) fn former(&self, uri: &str) -> rusqlite::Result<Option<ResourceActivity>> {
        let sql = "SELECT uri, time, change FROM former WHERE uri = ?1";
        self.0.prepare_cached(sql)?.query_row([uri], ResourceActivity::read).optional()
    }

    /// Takes an activity in a list of a set, by its number, unless a newer one of its resource in this set is known.
    pub(super) fn see(&self, set: usize, uri: &str, time: DateTime, change: &Change) -> rusqlite::Result<()> {
        let sql = "INSERT INTO seen VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (uri, number) DO UPDATE
                   SET instant = excluded.instant, time = excluded.time, change = excluded.change
                   WHERE instant <= excluded.instant";
        let row = params![uri, set as i64, time.unix_micros(), time.to_string(), number_of(change)];
        self.0.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Takes the newest activity of each resource in the lists. A resource that left one set and is in another one is there.
    pub(super) fn settle(&self) -> rusqlite::Result<()> {
        let sql = "INSERT INTO newest SELECT uri, instant, time, change FROM
                   (SELECT *, row_number() OVER (PARTITION BY uri ORDER BY change = 2, instant DESC) AS place FROM seen)
                   WHERE place = 1";
        self.0.execute_batch(sql)
    }

    /// Takes an activity, unless a newer one of its resource is known.
    fn note(&self, uri: &str, time: DateTime, change: &Change) -> rusqlite::Result<()> {
        let sql = "INSERT INTO newest VALUES (?1, ?2, ?3, ?4) ON CONFLICT (uri) DO UPDATE
                   SET instant = excluded.instant, time = excluded.time, change = excluded.change
                   WHERE instant <= excluded.instant";
        let row = params![uri, time.unix_micros(), time.to_string(), number_of(change)];
        self.0.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Takes the deletions of the former collection: the Change Lists that named them may have been removed.
    pub(super) fn note_former_deletions(&self) -> rusqlite::Result<()> {
        let mut statement = self.0.prepare("SELECT uri, time, change FROM former WHERE change = 2")?;
        let mut gone = statement.query_map([], ResourceActivity::read)?;
        gone.try_for_each(|gone| gone.and_then(|gone| self.note(&gone.uri, gone.time, &gone.change)))
    }

    /// Returns the number of resources.
    pub(super) fn count(&self) -> rusqlite::Result<usize> {
        let count: i64 = self.0.query_row("SELECT count(*) FROM newest", [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Passes on pages of up to `most` activities, in the order of time.
    pub(super) fn pages(
        &self,
        most: usize,
        take: &mut dyn FnMut(&[ResourceActivity]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut statement = self.0.prepare("SELECT uri, time, change FROM newest ORDER BY instant, uri")?;
        let mut page = Vec::with_capacity(most);
        for activity in statement.query_map([], ResourceActivity::read)? {
            page.push(activity?);
            if page.len() == most {
                take(&page)?;
                page.clear();
            }
        }
        if page.is_empty() { Ok(()) } else { take(&page) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_activity_of_each_resource_is_kept_and_pages_are_in_the_order_of_time() {
        let time = |text: &str| DateTime::parse(text).unwrap();
        let newest = NewestActivities::begin().unwrap();
        newest.note("http://x/a", time("2026-01-02T00:00:00.5Z"), &Change::Updated).unwrap();
        newest.note("http://x/a", time("2026-01-01T00:00:00Z"), &Change::Created).unwrap();
        newest.note("http://x/b", time("2026-01-02T00:00:00+01:00"), &Change::Deleted).unwrap();
        newest.note("http://x/c", time("2026-01-02T00:00:00.25Z"), &Change::Created).unwrap();
        let mut pages = Vec::new();
        newest
            .pages(2, &mut |page| {
                pages.push(
                    page.iter().map(|one| format!("{} {}", one.uri, one.change.as_str())).collect::<Vec<_>>(),
                );
                Ok(())
            })
            .unwrap();
        assert_eq!(pages, [vec!["http://x/b deleted", "http://x/c created"], vec!["http://x/a updated"]]);
        assert_eq!(newest.count().unwrap(), 3);
    }

    #[test]
    fn o673_a_resource_that_left_one_set_and_is_in_another_one_is_there() {
        let time = |text: &str| DateTime::parse(text).unwrap();
        let newest = NewestActivities::begin().unwrap();
        newest.see(0, "http://x/a", time("2026-01-01T00:00:00Z"), &Change::Updated).unwrap();
        newest.see(1, "http://x/a", time("2026-01-01T00:00:00Z"), &Change::Updated).unwrap();
        newest.see(1, "http://x/a", time("2026-01-02T00:00:00Z"), &Change::Deleted).unwrap();
        newest.see(1, "http://x/b", time("2026-01-01T00:00:00Z"), &Change::Updated).unwrap();
        newest.see(1, "http://x/b", time("2026-01-03T00:00:00Z"), &Change::Deleted).unwrap();
        newest.settle().unwrap();
        let mut found = Vec::new();
        newest
            .pages(9, &mut |page| {
                found.extend(page.iter().map(|one| format!("{} {}", one.uri, one.change.as_str())));
                Ok(())
            })
            .unwrap();
        assert_eq!(found, ["http://x/a updated", "http://x/b deleted"]);
    }
}
