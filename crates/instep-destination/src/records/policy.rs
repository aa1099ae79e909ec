//! The record of the rules for which the last plan of a set was made. If they change, the complete copy is compared.

use std::collections::BTreeSet;

use resourcesync::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::versioned;
use crate::{
    SelectionOptions,
    state::{ReadState, SetId, Setting, StateError},
};

const VERSION: u32 = 1;

/// The part of the options that a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlanRules {
    /// `true` if deletions were carried out.
    deletes: bool,
    /// The selection, in a form that depends only on the selected resources. Empty if a version before 0.2 made the
    /// plan.
    selection: String,
    /// The past time whose state the plan leads to. A plan for the present does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

impl PlanRules {
    /// Returns the rules of a run.
    pub(crate) fn new(selection: &SelectionOptions, deletes: bool) -> Self {
        Self { deletes, selection: text(selection), as_of: None }
    }

    /// Returns the same rules for the state of a past time; `None` is the present.
    #[must_use]
    pub(crate) fn at_time(self, time: Option<DateTime>) -> Self {
        Self { as_of: time.map(|time| time.to_string()), ..self }
    }

    /// Reads the rules that were recorded for a set; `None` if no plan has been carried out yet.
    pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<Option<Self>, StateError> {
        versioned::read(state, &name(set), VERSION)
    }

    /// Returns the record of the rules for a set.
    pub(crate) fn setting(&self, state: &dyn ReadState, set: SetId) -> Result<Setting, StateError> {
        versioned::setting(state, &name(set), VERSION, self)
    }

    /// Returns `true` if a plan that was made for these rules is also one for `now`: the selection is the same, the state is
    /// that of the same time (O762), and `now` does not require deletions that were not carried out.
    pub(crate) fn stand_for(&self, now: &Self) -> bool {
        self.selects_as(now) && self.as_of == now.as_of && (self.deletes || !now.deletes)
    }

    /// Returns `true` if a plan for these rules selects the same resources as one for `now`.
    pub(crate) fn selects_as(&self, now: &Self) -> bool {
        self.selection == now.selection
    }
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("policy {}", set.0)
}

fn text(selection: &SelectionOptions) -> String {
    let mut text = json!({
        "sets": selection.sets, "include": selection.include, "exclude": selection.exclude, "types": selection.types,
        "max_size": selection.max_size, "since": selection.since.map(|since| since.to_string()),
        "limit": selection.limit, "with_links": selection.with_links, "only_links": selection.only_links,
        "collections": selection.collections, "profiles": selection.profiles,
        "prefer_types": selection.prefer_types, "where_metadata": selection.where_metadata,
    });
    if let Some(paths) = &selection.paths {
        text["paths"] = digest(paths).into();
    }
    text.to_string()
}

/// Returns a digest of the paths of a list in any order: a list can be as long as an inventory.
fn digest(paths: &[String]) -> String {
    let paths: BTreeSet<_> = paths.iter().collect();
    let mut digest = blake3::Hasher::new();
    for path in paths {
        digest.update(path.as_bytes());
        // A separator that no path contains.
        digest.update(b"\0");
    }
    digest.finalize().to_hex().to_string()
}
