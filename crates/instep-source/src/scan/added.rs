//! Digests that the operator requests beyond those that a supplier guarantees.

use std::{fs::File, io};

use resourcesync::{Algorithm, Digests, Hasher};

use crate::{catalogue::ResourceState, content::Root};

const BUFFER: usize = 256 * 1024;

/// Adds the missing digests: known ones of the same bytes, otherwise computed ones. Returns `true` if the bytes are
/// those that the supplier guarantees; for other bytes nothing is added.
pub(super) fn add(
    state: &mut ResourceState,
    known: Option<&ResourceState>,
    algorithms: &[Algorithm],
    root: &Root,
    path: &[u8],
) -> io::Result<bool> {
    let same = known.filter(|known| known.digests.agrees_with(&state.digests) == Some(true));
    for digest in same.into_iter().flat_map(|known| known.digests.iter()) {
        if algorithms.contains(&digest.algorithm) && state.digests.get(&digest.algorithm).is_none() {
            state.digests.insert(digest.clone());
        }
    }
    let missing: Vec<&Algorithm> =
        algorithms.iter().filter(|algorithm| state.digests.get(algorithm).is_none()).collect();
    let Some(vouched) = state.digests.strongest().filter(|_| !missing.is_empty()).cloned() else {
        return Ok(true);
    };
    let computed = digests_of(root.open(path)?, missing.into_iter().chain([&vouched.algorithm]))?;
    let is_right = computed.get(&vouched.algorithm) == Some(&vouched);
    if is_right {
        computed.iter().for_each(|digest| state.digests.insert(digest.clone()));
    }
    Ok(is_right)
}

fn digests_of<'a>(
    mut file: File,
    algorithms: impl IntoIterator<Item = &'a Algorithm>,
) -> io::Result<Digests> {
    let mut hasher = Hasher::new(algorithms);
    hasher.take_all(&mut file, &mut vec![0; BUFFER])?;
    Ok(hasher.finish())
}
