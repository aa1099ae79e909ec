//! Marks of the held resources that a list names. At the end of the list, resources without a mark are no longer
//! listed.

use std::collections::BTreeMap;

/// The number of rows of one block.
const BLOCK: i64 = 32_768;

/// The held resources that a list has named in this run: one bit each.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    blocks: BTreeMap<i64, Box<[u64; (BLOCK / 64) as usize]>>,
    first_new: i64,
}

impl Default for Marks {
    fn default() -> Self {
        Self::none()
    }
}

impl Marks {
    /// Returns empty marks. Rows that are committed from now on count as named.
    pub(super) fn before(first_new: i64) -> Self {
        Self { blocks: BTreeMap::new(), first_new }
    }

    /// Returns empty marks of existing rows. Rows that are committed from now on have none.
    pub(crate) fn none() -> Self {
        Self { blocks: BTreeMap::new(), first_new: i64::MAX }
    }

    /// Returns the number from which on rows count as named.
    pub(super) fn first_new(&self) -> i64 {
        self.first_new
    }

    /// Marks a row.
    pub(crate) fn set(&mut self, id: i64) {
        let block = self.blocks.entry(id / BLOCK).or_insert_with(|| Box::new([0; (BLOCK / 64) as usize]));
        block[(id % BLOCK / 64) as usize] |= 1 << (id % 64);
    }

    /// Returns `true` if a row is marked.
    pub(crate) fn has(&self, id: i64) -> bool {
        id >= self.first_new
            || self
                .blocks
                .get(&(id / BLOCK))
                .is_some_and(|block| block[(id % BLOCK / 64) as usize] & (1 << (id % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn a_mark_stands_for_one_row_only() {
        let mut marks = Marks::before(100_000);
        for id in [0, 63, 64, 32_767, 32_768, 99_999] {
            assert!(!marks.has(id));
            marks.set(id);
            assert!(marks.has(id) && !marks.has(id + 1) || id == 99_999);
        }
        assert!(marks.has(100_000) && !marks.has(1));
    }
}
