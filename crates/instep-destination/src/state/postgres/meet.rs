//! The merge of an inventory with the held rows: by range, a page of rows at a time.

use std::cmp::Ordering;

use super::{PostgresState, copy_table::CopyTable, held_row};
use crate::{
    plan::Desired,
    state::{HeldResource, Meeting, RowSet, SetId, StateError},
};

/// The number of rows of a page.
const PAGE: i64 = 4_096;

/// If fewer than one row in this number is wanted, looking up the other URIs is cheaper than reading on.
const ROWS_FOR_ONE: usize = 24;

/// Compares a sorted part with the rows.
pub(super) fn meet(
    state: &PostgresState,
    meeting: &mut Meeting<'_>,
    mut part: &[Desired],
) -> Result<(), StateError> {
    let mut after = String::new();
    let Some(last) = part.last().map(|desired| desired.uri.as_str()) else { return Ok(()) };
    if !state.may_have(CopyTable::Held)? {
        part.iter().for_each(|desired| meeting.missed(desired));
        return Ok(());
    }
    let sql = format!(
        "SELECT {} FROM held WHERE copy = $1 AND uri >= $2 AND uri > $3 AND uri <= $4 ORDER BY uri LIMIT $5",
        held_row::COLUMNS
    );
    while let Some(next) = part.first() {
        let from = next.uri.as_str();
        // A page is read completely before it is passed on, because it is read again when the connection is lost.
        let rows = state.read(|session| {
            let rows = session.query(&sql, &[&state.copy, &from, &after, &last, &PAGE])?;
            rows.iter().map(held_row::read).collect::<Result<Vec<_>, _>>()
        })?;
        let is_last = (rows.len() as i64) < PAGE;
        let before = part.len();
        part = walk(meeting, &rows, part, is_last);
        if is_last {
            return Ok(());
        }
        if let Some(row) = rows.last() {
            after = row.uri.as_str().to_owned();
        }
        if (before - part.len()) * ROWS_FOR_ONE < rows.len() {
            return look_up(state, meeting, part);
        }
    }
    Ok(())
}

/// Walks through rows and part together. Returns the part after the last row; if that is the last row of all, its
/// states have no held resource.
fn walk<'p>(
    meeting: &mut Meeting<'_>,
    rows: &[HeldResource],
    part: &'p [Desired],
    is_last: bool,
) -> &'p [Desired] {
    let mut rows = rows.iter().peekable();
    for (index, desired) in part.iter().enumerate() {
        while rows.next_if(|row| row.uri.as_str() < desired.uri.as_str()).is_some() {}
        match rows.peek().map(|row| row.uri.as_str().cmp(desired.uri.as_str())) {
            Some(Ordering::Equal) => {
                if let Some(row) = rows.peek() {
                    meeting.met(desired, row);
                }
            }
            Some(_) => meeting.missed(desired),
            None if is_last => meeting.missed(desired),
            None => return &part[index..],
        }
    }
    &[]
}

/// Looks up the rows of a part, in batches.
fn look_up(state: &PostgresState, meeting: &mut Meeting<'_>, part: &[Desired]) -> Result<(), StateError> {
    for part in part.chunks(PAGE as usize) {
        let uris: Vec<_> = part.iter().map(|desired| desired.uri.as_str()).collect();
        walk(meeting, &rows_of(state, &uris)?, part, true);
    }
    Ok(())
}

fn rows_of(state: &PostgresState, uris: &[&str]) -> Result<Vec<HeldResource>, StateError> {
    let sql =
        format!("SELECT {} FROM held WHERE copy = $1 AND uri = ANY($2) ORDER BY uri", held_row::COLUMNS);
    state.read(|session| session.query(&sql, &[&state.copy, &uris])?.iter().map(held_row::read).collect())
}

/// Returns the next rows of a set that no part of its list has named.
pub(super) fn surplus_after(
    state: &PostgresState,
    set: SetId,
    named: &RowSet,
    after: &str,
    limit: usize,
) -> Result<Vec<HeldResource>, StateError> {
    // The names are in memory, so of rows that were named only the number is read.
    let sql =
        "SELECT uri, id FROM held WHERE copy = $1 AND uri > $2 AND sets & $3 <> 0 ORDER BY uri LIMIT $4";
    let mut after = after.to_owned();
    let mut unnamed: Vec<String> = Vec::new();
    loop {
        let rows: Vec<(String, i64)> = state.read(|session| {
            let rows = session.query(sql, &[&state.copy, &after, &set.mask(), &PAGE])?;
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
        })?;
        let is_last = (rows.len() as i64) < PAGE;
        if let Some((last, _)) = rows.last() {
            after.clone_from(last);
        }
        unnamed.extend(rows.into_iter().filter(|(_, id)| !named.contains(*id)).map(|(uri, _)| uri));
        if is_last || unnamed.len() >= limit {
            break;
        }
    }
    unnamed.truncate(limit);
    let uris: Vec<&str> = unnamed.iter().map(String::as_str).collect();
    rows_of(state, &uris)
}
