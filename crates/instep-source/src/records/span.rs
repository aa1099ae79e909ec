//! The record of one Change List.

use serde::{Deserialize, Serialize};

use super::Moment;

/// The part of the change log in one Change List. The log alone decides which change is in which list, so an
/// interrupted publication produces the same lists when it is repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct Span {
    /// The number in its name.
    pub number: u64,
    /// `from` of the list.
    pub from: Moment,
    /// `until` of the list; `None` while it is open.
    pub until: Option<Moment>,
    /// The sequence number before its first entry.
    pub after: u64,
    /// The datetime of its first entry.
    pub first: Option<Moment>,
    /// Its entries.
    pub entries: u64,
    /// The bytes of its entries.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub bytes: u64,
}

/// Returns `true` if a record from before bytes were counted has none.
fn is_unknown(bytes: &u64) -> bool {
    *bytes == 0
}
