//! Folders with files for tests, and folders as sets of paths and digests, to be compared.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use data_encoding::HEXLOWER;
use resourcesync::{Algorithm, Hasher};
use tempfile::TempDir;

/// Makes a temporary folder with files, each with its path below the folder and its text.
///
/// # Panics
/// When a file cannot be written.
pub fn folder_with_files(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a path below the folder")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    }
    folder
}

/// The files of a folder: relative path to length and digest. `.instep` and `.well-known` are not part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, (u64, String)>);

impl Tree {
    /// Reads a folder; one that does not exist is empty.
    ///
    /// # Panics
    /// When a file cannot be read.
    pub fn of(folder: &Path) -> Self {
        let visible = |entry: &walkdir::DirEntry| {
            !matches!(entry.file_name().to_str(), Some(".instep" | ".well-known"))
        };
        let files = walkdir::WalkDir::new(folder).min_depth(1).into_iter().filter_entry(visible);
        let files = files.filter_map(Result::ok).filter(|entry| !entry.file_type().is_dir());
        Self(
            files
                .filter_map(|file| {
                    let name = file.path().strip_prefix(folder).expect("below the folder").to_string_lossy();
                    let bytes = match fs::read(file.path()) {
                        // It was removed while the folder was read.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                        bytes => bytes.expect("a readable file"),
                    };
                    Some((name.into_owned(), (bytes.len() as u64, digest(&bytes))))
                })
                .collect(),
        )
    }

    /// Returns the paths, in order.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns the tree without the paths that begin with a prefix, such as those of documents beside the resources.
    #[must_use]
    pub fn without(mut self, prefix: &str) -> Self {
        self.0.retain(|name, _| !name.starts_with(prefix));
        self
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, (length, digest))| writeln!(f, "{digest:.12} {length:>9} {name}"))
    }
}

/// Returns the differences of two folders, a line each: `-` only left, `+` only right, `~` both, with other bytes.
pub fn compare(left: &Path, right: &Path) -> Vec<String> {
    let (left, right) = (Tree::of(left).0, Tree::of(right).0);
    let gone = left.iter().filter_map(|(name, file)| match right.get(name) {
        None => Some(format!("- {name}")),
        Some(other) if other != file => Some(format!("~ {name}")),
        Some(_) => None,
    });
    gone.chain(right.keys().filter(|name| !left.contains_key(*name)).map(|name| format!("+ {name}")))
        .collect()
}

/// Returns the SHA-256 of some bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let mut hasher = Hasher::new([&Algorithm::Sha256]);
    hasher.update(bytes);
    let digests = hasher.finish();
    let digest = digests.strongest().and_then(|digest| digest.bytes()).unwrap_or_default();
    HEXLOWER.encode(digest)
}
