//! The folders that are used if the operator names none, and the refusal of those that do not exist.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::bail;

/// Refuses a folder of resources that does not exist, or that is a file. One that is there and cannot be looked at is
/// reported when it is read, as a fault of the disk.
///
/// Errors: there is no such folder.
pub(crate) fn refuse_missing(folder: &Path) -> anyhow::Result<()> {
    if folder.as_os_str().is_empty() {
        bail!("The name of the folder is empty. Give the folder whose files are the resources");
    }
    let is_missing =
        |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    if fs::metadata(folder).map_or_else(is_missing, |found| !found.is_dir()) {
        bail!("{} is not a folder. Give the folder whose files are the resources", folder.display());
    }
    Ok(())
}

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
