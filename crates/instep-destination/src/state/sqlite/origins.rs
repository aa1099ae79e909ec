//! A temporary state with the held resources under the URIs of their originals, for an audit against the original
//! Source.

use std::path::Path;

use resourcesync::Relation;

use super::{SqliteState, held::Putting, packs};
use crate::state::{CopyState, HeldResource, ReadState, ResourceMetadata, StateError};

/// The number of rows that are read at a time.
const PAGE: usize = 4_096;

/// Copies the held resources of a state to a state in a new file, each under the URI that its `via` link names (LN-21)
/// and with the last modification of the original. A resource without such a link keeps its URI. All of them belong to
/// every set. Versions are left out: each has the link of its resource, whose place it would take (O767).
///
/// # Errors
/// If the state cannot be read, or the file cannot be made.
pub(crate) fn by_origin(state: &dyn ReadState, path: &Path) -> Result<Box<dyn CopyState>, StateError> {
    let mut origins = SqliteState::open(path)?;
    let next_id = state.named()?.first_new();
    let fill = |source| StateError::sqlite(path, source);
    let transaction = origins.connection.transaction().map_err(fill)?;
    let mut rows = Putting::into(&transaction).map_err(fill)?;
    let mut after: Option<String> = None;
    loop {
        let page = state.held_after(after.as_deref(), PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.uri.as_str().to_owned());
        for held in page.into_iter().filter(|held| !held.is_version()) {
            let name = held.path.key_beside(&held.path);
            let held = at_origin(held);
            let place = (held.uri.as_str(), held.path.as_str(), name.as_deref());
            rows.put(place, (held.id, held.sets), &held.metadata).map_err(fill)?;
            packs::copy(&transaction, held.uri.as_str(), &held.place).map_err(fill)?;
        }
    }
    drop(rows);
    transaction
        .execute("INSERT OR REPLACE INTO counter (name, value) VALUES ('next_id', ?1)", [next_id])
        .map_err(fill)?;
    transaction.commit().map_err(fill)?;
    Ok(Box::new(origins))
}

fn at_origin(held: HeldResource) -> HeldResource {
    let via = held.metadata.links.iter().find(|link| link.rel == Relation::Via).cloned();
    let HeldResource { uri, path, place, metadata, id, is_racy, .. } = held;
    let (uri, lastmod) = via.map_or((uri, metadata.lastmod), |via| (via.href, via.modified));
    let metadata = ResourceMetadata {
        length: metadata.length,
        digests: metadata.digests,
        lastmod,
        ..ResourceMetadata::new()
    };
    HeldResource { uri, path, place, metadata, id, sets: HeldResource::SETS_UNKNOWN, is_racy }
}
