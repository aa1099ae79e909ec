//! The folders that are used if the operator names none.

use std::path::{Path, PathBuf};

/// Returns the state folder of a Source, as `publish` and `serve` choose it.
pub(crate) fn state(dir: &Path, state: Option<PathBuf>) -> PathBuf {
    state.unwrap_or_else(|| dir.join(".instep"))
}

/// Returns the state folder of a Source that publishes a copy again. It is below the copy's own state, so that both are
/// moved or removed with the copy.
pub(crate) fn state_of_republished(copy: &Path) -> PathBuf {
    copy.join(".instep/source")
}

/// Returns the folder of a copy: `./HOST` or `./HOST_PORT` of the URL that the operator typed.
pub(crate) fn copy(url: &str) -> PathBuf {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let safe = |character: char| {
        if character.is_ascii_alphanumeric() || "-.".contains(character) { character } else { '_' }
    };
    let name: String = host.chars().map(safe).collect();
    PathBuf::from(".").join(name.trim_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn a_copy_without_a_folder_is_named_by_its_host() {
        for (url, dir) in [
            ("https://example.org/a/b", "./example.org"),
            ("http://127.0.0.1:8080/", "./127.0.0.1_8080"),
            ("https://user@example.org?x", "./example.org"),
            ("https://../", "./"),
        ] {
            assert_eq!(copy(url), std::path::Path::new(dir));
        }
    }
}
