//! Resources that could not be fetched, until the changes published meanwhile are read.

use std::collections::BTreeMap;

use crate::ProblemKind;

/// Resources that failed and may be explained by a change that was published meanwhile, with the problem that is
/// reported otherwise.
pub(crate) type Unexplained = BTreeMap<String, (ProblemKind, String)>;
