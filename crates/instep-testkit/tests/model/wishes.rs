//! The wishes of the operator of the copy: deletions, and the selection of resources.

use instep_destination::{MaxDelete, SelectionOptions, SyncOptions};

use crate::{draw::Draw, oddities::Oddities};

/// The wishes of the operator in one phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wishes {
    /// `true` if resources that are gone at the Source are deleted.
    pub(crate) delete: bool,
    /// `true` if the guard allows no deletion.
    pub(crate) guard: bool,
    /// The most resources to copy; `None` for all.
    pub(crate) limit: Option<u64>,
    /// `true` if resources with an odd number are not selected.
    pub(crate) only_even: bool,
}

impl Wishes {
    /// Returns the wish for the whole copy.
    pub(crate) fn of_all(delete: bool) -> Self {
        Self { delete, guard: false, limit: None, only_even: false }
    }

    /// Draws the wishes of a phase. In the last phase the operator wants the whole copy. `delete` is the setting of the
    /// style.
    pub(crate) fn draw(
        whims: &mut Draw,
        tastes: &mut Draw,
        oddities: &Oddities,
        delete: bool,
        is_last: bool,
    ) -> Self {
        let Oddities { toggles_delete, guards, limits, selects, .. } = *oddities;
        let (deletes, guard, limit) = (whims.chance(50), whims.chance(40), whims.within(1, 12));
        let (has_limit, is_narrow, may) = (whims.chance(50), tastes.chance(50), !is_last);
        Self {
            delete: if toggles_delete { is_last || deletes } else { delete },
            guard: guards && may && guard,
            limit: (limits && may && has_limit).then_some(limit),
            only_even: selects && may && is_narrow,
        }
    }

    /// Returns `true` if resources may be left out.
    pub(crate) fn is_narrow(self) -> bool {
        self.limit.is_some() || self.only_even
    }

    /// Returns `true` if a resource may be left out.
    pub(crate) fn may_leave_out(self, path: &str) -> bool {
        let number = path.trim_end_matches(".txt").bytes().next_back().unwrap_or_default();
        self.limit.is_some() || self.only_even && number % 2 == 1
    }

    pub(crate) fn select(self, selection: &mut SelectionOptions) {
        selection.limit = self.limit;
        if self.only_even {
            selection.exclude = [1, 3, 5, 7, 9].map(|digit| format!("*{digit}.txt")).into();
        }
    }

    pub(crate) fn apply(self, options: &mut SyncOptions) {
        options.delete = self.delete;
        options.max_delete = if self.guard { MaxDelete::Count(0) } else { MaxDelete::Percent(100) };
        self.select(&mut options.selection);
    }
}
