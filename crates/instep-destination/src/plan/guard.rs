//! Guards: rules by which a plan is refused as a whole, because it would delete too much, go back in time, or follow a
//! Source that stands still.

use std::time::Duration;

use resourcesync::DateTime;

use crate::{Error, Guard, MaxDelete};

/// The deletions of a plan.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub(crate) struct Deletions {
    /// The number of planned deletions.
    pub planned: u64,
    /// The number of held resources.
    pub held: u64,
    /// The number of resources in the inventory, if the deletions are inferred from it.
    pub inventory: Option<u64>,
}

impl Deletions {
    /// Returns deletions that a Change List names.
    pub(crate) fn named(planned: u64, held: u64) -> Self {
        Self { planned, held, inventory: None }
    }

    /// Returns deletions that are inferred from an inventory with this number of resources.
    pub(crate) fn inferred(planned: u64, held: u64, inventory: u64) -> Self {
        Self { planned, held, inventory: Some(inventory) }
    }
}

/// Checks that one run may delete this number of resources from the copy (D35).
///
/// # Errors
/// [`Error::Refused`] if an empty inventory would empty the copy, or if more than `most` would be deleted.
pub(crate) fn check_deletions(deletions: Deletions, most: MaxDelete, allow_empty: bool) -> Result<(), Error> {
    let Deletions { planned, held, inventory } = deletions;
    // Checked before the limit, whatever that is: an empty list is more often a broken publication than the end of a
    // collection.
    if inventory == Some(0) && held > 0 && !allow_empty {
        let what = format!("the Source lists nothing, and the copy holds {held} resources");
        return Err(Error::Refused { guard: Guard::Empty, what });
    }
    let limit = most.limit(held);
    if planned > limit {
        let what = format!("{planned} of {held} resources would be deleted; the limit is {limit}");
        return Err(Error::Refused { guard: Guard::MaxDelete, what });
    }
    Ok(())
}

/// Checks that an inventory is not older than the one that was applied (D36).
///
/// # Errors
/// [`Error::Refused`] if it is.
pub(crate) fn check_inventory_time(
    url: &str,
    applied: Option<&DateTime>,
    at: Option<&DateTime>,
) -> Result<(), Error> {
    match (applied, at) {
        // Times are compared with their own precision: a date of today is not older than a time of today.
        (Some(applied), Some(at)) if at.end() <= applied.instant() => {
            let what = format!("{url} is of {at}, older than the one of {applied} that was applied");
            Err(Error::Refused { guard: Guard::TimeWentBack, what })
        }
        _ => Ok(()),
    }
}

/// Checks that the Source stated a time within `max_age` before `now` (D37).
///
/// # Errors
/// [`Error::Refused`] if its newest time is older.
pub(crate) fn check_age(
    newest: Option<&DateTime>,
    now: DateTime,
    max_age: Option<Duration>,
) -> Result<(), Error> {
    let (Some(newest), Some(max_age)) = (newest, max_age) else { return Ok(()) };
    let age = now.unix_micros().saturating_sub(newest.unix_micros());
    if i128::from(age) <= max_age.as_micros() as i128 {
        return Ok(());
    }
    let what = format!("the newest time of the Source is {newest}, which is older than allowed");
    Err(Error::Refused { guard: Guard::Frozen, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(result: Result<(), Error>) -> Option<Guard> {
        match result {
            Ok(()) => None,
            Err(Error::Refused { guard, .. }) => Some(guard),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn the_guard_table_holds() {
        let inferred = |planned, inventory| Deletions::inferred(planned, 1000, inventory);
        let table = [
            ("D35 empty", inferred(1000, 0), MaxDelete::Default, false, Some(Guard::Empty)),
            (
                "D35 empty, limit lifted",
                inferred(1000, 0),
                MaxDelete::Percent(100),
                false,
                Some(Guard::Empty),
            ),
            ("empty and wanted", inferred(1000, 0), MaxDelete::Percent(100), true, None),
            (
                "empty allowed, limit not lifted",
                inferred(1000, 0),
                MaxDelete::Default,
                true,
                Some(Guard::MaxDelete),
            ),
            ("D35 half", inferred(501, 499), MaxDelete::Default, false, Some(Guard::MaxDelete)),
            ("one in ten", inferred(100, 900), MaxDelete::Default, false, None),
            ("by count", inferred(101, 899), MaxDelete::Count(101), false, None),
            ("named", Deletions::named(501, 1000), MaxDelete::Default, false, Some(Guard::MaxDelete)),
            ("none", Deletions::named(0, 1000), MaxDelete::Count(0), false, None),
            (
                "an empty copy of an empty Source",
                Deletions::inferred(0, 0, 0),
                MaxDelete::Default,
                false,
                None,
            ),
        ];
        for (name, deletions, most, allow_empty, expected) in table {
            assert_eq!(guard(check_deletions(deletions, most, allow_empty)), expected, "{name}");
        }
    }

    #[test]
    fn an_older_inventory_is_refused_and_an_equal_one_is_not() {
        let (old, new) = (DateTime::from_unix_seconds(10), DateTime::from_unix_seconds(20));
        let check = |applied, at| guard(check_inventory_time("http://example.com/l", applied, at));
        assert_eq!(check(Some(&new), Some(&old)), Some(Guard::TimeWentBack));
        assert_eq!(check(Some(&new), Some(&new)), None);
        assert_eq!(check(None, Some(&old)), None);
        let day = DateTime::parse("1970-01-01").unwrap();
        assert_eq!(check(Some(&new), Some(&day)), None, "a day holds every second of it");
    }

    #[test]
    fn a_frozen_source_is_told_by_its_age() {
        let at = DateTime::from_unix_seconds;
        assert_eq!(
            guard(check_age(Some(&at(0)), at(100), Some(Duration::from_secs(99)))),
            Some(Guard::Frozen)
        );
        assert_eq!(guard(check_age(Some(&at(0)), at(100), Some(Duration::from_secs(100)))), None);
        assert_eq!(guard(check_age(Some(&at(0)), at(100), None)), None);
    }
}
