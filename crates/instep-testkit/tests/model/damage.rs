//! Damages files of a copy between two runs.

use std::{fs, path::Path};

use crate::{draw::Draw, run::files};

/// Removes or overwrites one or two files of a copy, if it has at least four. Returns `true` if it did.
pub(crate) fn damage(copy: &Path, draw: &mut Draw) -> bool {
    let held: Vec<_> = files(copy).into_keys().collect();
    if held.len() < 4 {
        return false;
    }
    for _ in 0..draw.within(1, 2) {
        let path = copy.join(&held[usize::try_from(draw.below(held.len() as u64)).unwrap()]);
        match draw.chance(50) {
            true if path.exists() => fs::remove_file(path).unwrap(),
            _ => fs::write(path, "damaged").unwrap(),
        }
    }
    true
}
