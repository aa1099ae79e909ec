//! The common form of names that some file systems do not distinguish.

use unicode_normalization::UnicodeNormalization as _;

/// Returns the form that names have in common if a file system that ignores case and composition takes them for one: ß
/// is ss, a composed letter its parts.
pub(crate) fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}
