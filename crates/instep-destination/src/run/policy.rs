//! The policy of a run: the operator's options that decide about its plans.

use instep_net::Scope;
use resourcesync::Relation;

use crate::{
    Error, SyncOptions,
    draft::Policy,
    plan::{Condition, Selection},
};

/// Returns the policy of the plans of a run, for URIs within a scope.
///
/// # Errors
/// [`Error::Usage`] if a pattern or a condition cannot be read.
pub(super) fn of(options: &SyncOptions, scope: Scope) -> Result<Policy, Error> {
    let selection = &options.selection;
    Ok(Policy {
        selection: Selection::new(selection, &options.url)?,
        scope,
        limit: selection.limit,
        as_of: options.as_of,
        with_links: selection.with_links.iter().map(|rel| Relation::parse(rel)).collect(),
        delete: options.delete,
        lastmod: options.lastmod,
        prefer_types: selection.prefer_types.clone(),
        condition: selection.where_metadata.as_deref().map(condition).transpose()?,
    })
}

fn condition(text: &str) -> Result<Condition, Error> {
    text.parse().map_err(|what| Error::Usage { what })
}
