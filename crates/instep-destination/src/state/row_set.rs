//! Held resources that one run has to remember, by the numbers of their rows: those that a list names, and those with
//! damaged files. At the end of a list, the resources that it has not named are no longer listed.

use std::collections::BTreeMap;

/// The number of rows of one block.
const BLOCK: i64 = 32_768;

/// A set of held resources, by the numbers of their rows: one bit each.
#[derive(Clone, Debug)]
pub(crate) struct RowSet {
    blocks: BTreeMap<i64, Box<[u64; (BLOCK / 64) as usize]>>,
    first_new: i64,
}

impl Default for RowSet {
    fn default() -> Self {
        Self::empty()
    }
}

impl RowSet {
    /// Returns an empty set.
    pub(crate) fn empty() -> Self {
        Self { blocks: BTreeMap::new(), first_new: i64::MAX }
    }

    /// Returns a set of the rows from a number on: those that are committed from now on.
    pub(super) fn of_new(first_new: i64) -> Self {
        Self { blocks: BTreeMap::new(), first_new }
    }

    /// Returns the number from which on the set has all rows.
    pub(super) fn first_new(&self) -> i64 {
        self.first_new
    }

    /// Adds a row.
    pub(crate) fn insert(&mut self, id: i64) {
        let block = self.blocks.entry(id / BLOCK).or_insert_with(|| Box::new([0; (BLOCK / 64) as usize]));
        block[(id % BLOCK / 64) as usize] |= 1 << (id % 64);
    }

    /// Removes a row. New ones stay.
    pub(crate) fn remove(&mut self, id: i64) {
        if let Some(block) = self.blocks.get_mut(&(id / BLOCK)) {
            block[(id % BLOCK / 64) as usize] &= !(1_u64 << (id % 64));
        }
    }

    /// Returns `true` if the set has a row.
    pub(crate) fn contains(&self, id: i64) -> bool {
        id >= self.first_new
            || self
                .blocks
                .get(&(id / BLOCK))
                .is_some_and(|block| block[(id % BLOCK / 64) as usize] & (1 << (id % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::RowSet;

    #[test]
    fn a_set_has_the_rows_that_were_added_and_the_new_ones() {
        let mut rows = RowSet::of_new(100_000);
        for id in [0, 63, 64, 32_767, 32_768, 99_999] {
            assert!(!rows.contains(id));
            rows.insert(id);
            assert!(rows.contains(id) && !rows.contains(id + 1) || id == 99_999);
        }
        assert!(rows.contains(100_000) && !rows.contains(1));
        rows.remove(63);
        assert!(!rows.contains(63) && rows.contains(0) && rows.contains(64));
    }
}
