//! Filters that match nothing: usually they are mistyped, and nothing else would show it.

use super::SyncRun;

impl SyncRun<'_> {
    /// Notes that nothing was selected, or which paths of a list the Source does not have (D8, O109). `is_whole`: a
    /// whole inventory was read, which alone shows that; with a limit, the selection ends before it (O280).
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
