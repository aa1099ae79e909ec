//! A note in the record of a document, for the run that reads it next.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{DocumentRecord, ReadState, SetId, StateError};

const VERSION: u32 = 1;

/// The only form of a note before notes had versions; the number of unusable entries follows.
const WITHOUT_VERSION: &str = "unusable ";

/// The note about a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DocumentNote {
    /// The number of its entries without a usable `loc`, which were reported when it was read (B27). Of a collection of
    /// activities, 1 if some could not be used (O996).
    pub(crate) unusable: u64,
    /// The time of the newest change that it listed, in microseconds; `None` if it listed none with a time (O706).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) newest: Option<i64>,
    /// The mask of the sets that have read this version of it; `None` if each set that names it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sets: Option<i64>,
    /// The digest of the documents that list the packages of a dump, without their manifests: these are only read if the
    /// dump is (O1011). `None` of other documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) listing: Option<[u8; 32]>,
}

impl DocumentNote {
    /// The digest of a listing that no dump has: the next run reads the dump, also if it is unchanged.
    pub(crate) const NO_LISTING: [u8; 32] = [0; 32];

    /// Returns `true` if a set has read this version of the document.
    pub(crate) fn was_read_by(self, set: SetId) -> bool {
        self.sets.is_none_or(|sets| sets & set.mask() != 0)
    }

    /// Reads the note in a document's record; returns the default if there is none.
    pub(crate) fn read(state: &dyn ReadState, record: &DocumentRecord) -> Result<Self, StateError> {
        let Some(text) = record.extra.as_deref() else { return Ok(Self::default()) };
        if let Some(unusable) = text.strip_prefix(WITHOUT_VERSION).and_then(|count| count.parse().ok()) {
            return Ok(Self { unusable, ..Self::default() });
        }
        let name = || format!("the note about {}", record.uri);
        versioned::parse(text, VERSION).map_err(|what| versioned::damaged(state, &name(), what))
    }

    /// Writes the note into a document's record, unless it is the default.
    pub(crate) fn write(self, state: &dyn ReadState, record: &mut DocumentRecord) -> Result<(), StateError> {
        if self == Self::default() {
            return Ok(());
        }
        let name = || format!("the note about {}", record.uri);
        let text =
            versioned::to_text(VERSION, &self).map_err(|what| versioned::damaged(state, &name(), what))?;
        record.extra = Some(text.into());
        Ok(())
    }
}
