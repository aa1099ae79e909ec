//! Failures that are not reported yet, until the changes that were published meanwhile are read.

use std::collections::BTreeMap;

use crate::ProblemKind;

/// Resources that failed and may be explained by a change that was published meanwhile, with the problem that is
/// reported otherwise.
pub(crate) type Unexplained = BTreeMap<String, (ProblemKind, String)>;
