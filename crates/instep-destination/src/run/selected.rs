//! Notes about filters that match nothing. Usually they are mistyped, and nothing else would show it.

use super::SyncRun;

impl SyncRun<'_> {
    /// Notes that nothing was selected, or which paths of a list the Source does not have (P8, O109). The
    /// latter needs a complete inventory, which `is_whole` states, and no limit, with which the selection ends early
    /// (O280).
    pub(crate) fn note_selection(&self, is_whole: bool) {
        let selection = &self.policy.selection;
        match (selection.counts(), selection.unmatched()) {
            ((listed @ 1.., 0), _) => self
                .reporter
                .note(&format!("{listed} listed, 0 selected: nothing of the Source matches the filters")),
            ((_, 1..), (number @ 1.., some)) if is_whole && self.options.selection.limit.is_none() => {
                let rest = if number > some.len() { ", ..." } else { "" };
                let paths = if number == 1 { "path" } else { "paths" };
                let some = some.join(", ");
                self.reporter.note(&format!("{number} listed {paths} not at the Source: {some}{rest}"));
            }
            _ => {}
        }
    }
}
