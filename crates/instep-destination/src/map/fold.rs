//! The common form of names that some file systems do not distinguish. Clashes are resolved by `commit/places.rs`.

use unicode_normalization::UnicodeNormalization as _;

/// Returns the form that two names share if a file system that ignores case and composition does not distinguish them:
/// ß becomes ss, and a letter with its combining marks becomes a composed letter.
pub(crate) fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}
