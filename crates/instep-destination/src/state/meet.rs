//! The merge of an inventory with the held resources, both in the order of their URIs.

use std::cmp::Ordering;

use resourcesync::Uri;
use rusqlite::Rows;

use super::{CopyState, HeldResource, Marks, SetId, StateError, held};
use crate::plan::Desired;

/// After as many rows that nobody asked for, looking the next one up is cheaper than walking on.
const PASSED_BEFORE_LOOKING_UP: usize = 24;

impl CopyState {
    /// Marks for a run over a complete inventory.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn marks(&self) -> Result<Marks, StateError> {
        Ok(Marks::before(self.next_id().map_err(|source| self.error(source))?))
    }

    /// One part of a list meets what is held: each desired state once, in order of URIs, with what is held of it and
    /// whether something named it before.
    ///
    /// The part is sorted here; what is held is read alongside it. Give at most some 50,000 at a time.
    /// Returns the resources that are held but not yet counted to the set: [`CopyState::join`] counts them.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn meet(
        &self,
        set: SetId,
        marks: &mut Marks,
        part: &mut [Desired],
        each: &mut dyn FnMut(&Desired, Option<&HeldResource>, bool),
    ) -> Result<Vec<Uri>, StateError> {
        // Documents are in any order; one walk over both sides needs the order of the rows.
        part.sort_by(|a, b| a.uri.cmp(&b.uri));
        let mut meeting = Meeting { set, marks, each, joining: Vec::new() };
        let mut walk = || {
            let sql = format!("SELECT {} FROM held WHERE uri >= ?1 ORDER BY uri", held::COLUMNS);
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rest = &part[..];
            while let Some(next) = rest.first() {
                rest = meeting.walk(&mut statement.query([next.uri.as_str()])?, rest)?;
            }
            Ok(())
        };
        walk().map_err(|source| self.error(source))?;
        Ok(meeting.joining)
    }

    /// The next held resources of a set that no part of its list has named.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn surplus_after(
        &self,
        set: SetId,
        marks: &Marks,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HeldResource>, StateError> {
        let find = || {
            let sql =
                format!("SELECT {} FROM held WHERE uri > ?1 AND sets & ?2 <> 0 ORDER BY uri", held::COLUMNS);
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query((after.unwrap_or_default(), set.mask()))?;
            let mut surplus = Vec::new();
            while let Some(row) = rows.next()? {
                // Marks are bits in memory, so the rows are filtered here and not by SQL.
                if !marks.has(row.get(1)?) {
                    surplus.push(held::read(row)?);
                }
                if surplus.len() == limit {
                    break;
                }
            }
            Ok(surplus)
        };
        find().map_err(|source| self.error(source))
    }

    /// Counts held resources to a set.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn join(&mut self, set: SetId, uris: &[Uri]) -> Result<(), StateError> {
        let mut join = || {
            let transaction = self.connection.transaction()?;
            {
                let mut statement =
                    transaction.prepare_cached("UPDATE held SET sets = sets | ?2 WHERE uri = ?1")?;
                for uri in uris {
                    statement.execute((uri.as_str(), set.mask()))?;
                }
            }
            transaction.commit()
        };
        join().map_err(|source| StateError::sqlite(&self.path, source))
    }
}

struct Meeting<'a> {
    set: SetId,
    marks: &'a mut Marks,
    each: &'a mut dyn FnMut(&Desired, Option<&HeldResource>, bool),
    joining: Vec<Uri>,
}

impl Meeting<'_> {
    /// Walks rows and part side by side; what is left of the part is to be looked up anew.
    fn walk<'p>(&mut self, rows: &mut Rows<'_>, part: &'p [Desired]) -> rusqlite::Result<&'p [Desired]> {
        let mut passed = 0;
        let mut index = 0;
        while let Some(row) = rows.next()? {
            let uri = row.get_ref(0)?.as_str()?;
            while let Some(desired) = part.get(index) {
                match uri.cmp(desired.uri.as_str()) {
                    Ordering::Less => break,
                    Ordering::Equal => {
                        let held = held::read_with(row, desired.uri.clone())?;
                        self.met(desired, &held);
                        passed = 0;
                    }
                    Ordering::Greater => (self.each)(desired, None, false),
                }
                index += 1;
            }
            passed += 1;
            // A small list beside a large copy must not read all of the copy.
            if index == part.len() || passed > PASSED_BEFORE_LOOKING_UP {
                return Ok(&part[index..]);
            }
        }
        part[index..].iter().for_each(|desired| (self.each)(desired, None, false));
        Ok(&[])
    }

    fn met(&mut self, desired: &Desired, held: &HeldResource) {
        let was_named = self.marks.has(held.id);
        self.marks.set(held.id);
        if !held.is_in(self.set) {
            self.joining.push(desired.uri.clone());
        }
        (self.each)(desired, Some(held), was_named);
    }
}
