//! Errors of patches, and the limit on the cost of applying one.

/// The reason why a patch is not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The patch, or the held version, is not in the form that the format works on.
    #[error("Not well-formed: {0}")]
    Malformed(String),
    /// The patch was made for another version than the one that is held.
    #[error("The patch does not fit: {0}")]
    Unfit(String),
    /// The result has another digest than the entry states.
    #[error("The patched version has another digest")]
    Mismatch,
}

/// Refuses patches with many operations on a large version. Each operation takes time that grows with the version, so
/// that together they could take longer than fetching it.
pub(super) fn affordable(operations: usize, bytes: usize) -> Result<(), PatchError> {
    const MOST: usize = 1 << 32;
    match operations.checked_mul(bytes) {
        Some(passed) if passed <= MOST => Ok(()),
        _ => Err(PatchError::Unfit(format!("{operations} operations on {bytes} bytes are too many"))),
    }
}
