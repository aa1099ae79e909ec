//! The merge of an inventory with the held rows, both in the order of their URIs.

use std::cmp::Ordering;

use resourcesync::Uri;
use rusqlite::{Connection, Rows};

use super::held_row;
use crate::{
    plan::Desired,
    state::{HeldResource, Meeting, RowSet, SetId},
};

/// The number of unwanted rows after which looking up the next URI is cheaper than reading on.
const PASSED_BEFORE_LOOKING_UP: usize = 24;

/// Compares a part with the rows. Returns the resources that are held but do not belong to the set yet.
pub(super) fn meet(
    connection: &Connection,
    mut meeting: Meeting<'_>,
    part: &mut [Desired],
) -> rusqlite::Result<Vec<Uri>> {
    // Documents are in any order, and one walk over both sides needs the order of the rows.
    part.sort_by(|a, b| a.uri.cmp(&b.uri));
    let sql = format!("SELECT {} FROM held WHERE uri >= ?1 ORDER BY uri", held_row::COLUMNS);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rest = &part[..];
    while let Some(next) = rest.first() {
        rest = walk(&mut meeting, &mut statement.query([next.uri.as_str()])?, rest)?;
    }
    Ok(meeting.joining())
}

/// Walks through rows and part together. Returns the rest of the part, which must be looked up.
fn walk<'p>(
    meeting: &mut Meeting<'_>,
    rows: &mut Rows<'_>,
    part: &'p [Desired],
) -> rusqlite::Result<&'p [Desired]> {
    let mut passed = 0;
    let mut index = 0;
    while let Some(row) = rows.next()? {
        let uri = row.get_ref(0)?.as_str()?;
        while let Some(desired) = part.get(index) {
            match uri.cmp(desired.uri.as_str()) {
                Ordering::Less => break,
                Ordering::Equal => {
                    let held = held_row::read_with(row, desired.uri.clone())?;
                    meeting.met(desired, &held);
                    passed = 0;
                }
                Ordering::Greater => meeting.missed(desired),
            }
            index += 1;
        }
        passed += 1;
        // A small list must not cause all rows of a large copy to be read.
        if index == part.len() || passed > PASSED_BEFORE_LOOKING_UP {
            return Ok(&part[index..]);
        }
    }
    part[index..].iter().for_each(|desired| meeting.missed(desired));
    Ok(&[])
}

/// Returns the next rows of a set that no part of its list has named.
pub(super) fn surplus_after(
    connection: &Connection,
    set: SetId,
    named: &RowSet,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<HeldResource>> {
    // Nearly all rows were named, so the other columns are read of the few others only. The rows are filtered here and not
    // by SQL, because the names are bits in memory.
    let sql = "SELECT id, uri FROM held WHERE uri > ?1 AND sets & ?2 <> 0 ORDER BY uri";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((after.unwrap_or_default(), set.mask()))?;
    let mut of_uri =
        connection.prepare_cached(&format!("SELECT {} FROM held WHERE uri = ?1", held_row::COLUMNS))?;
    let mut surplus = Vec::new();
    while let Some(row) = rows.next()? {
        if !named.contains(row.get(0)?) {
            surplus.push(of_uri.query_row([row.get_ref(1)?.as_str()?], held_row::read)?);
        }
        if surplus.len() == limit {
            break;
        }
    }
    Ok(surplus)
}
