//! Staged to committed: whole and verified under the final name, or not at all.
