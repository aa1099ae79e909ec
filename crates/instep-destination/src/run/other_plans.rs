//! The plans of other sets in the same run: a set deletes no resource that another one lists, and a resource that all of
//! them drop is deleted.

use super::set::SetRun;

/// The plans of other sets in the same run.
#[derive(Debug, Default)]
pub(crate) struct OtherPlans {
    /// Those that were made ahead of their turns; `None` until a set deletes anything.
    pub(crate) ahead: Option<Vec<SetRun>>,
    /// Those before the present one, in a run that writes nothing: the state does not show their actions.
    pub(crate) before: Vec<SetRun>,
}
