//! The folder that a path lies in.

use std::path::Path;

/// Returns the folder of a file or folder; that of a mere name is the working directory, `.`.
pub fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mere_name_lies_in_the_working_directory() {
        for (path, folder) in [("a", "."), ("./a", "."), ("d/a", "d"), ("/a", "/")] {
            assert_eq!(parent_folder(Path::new(path)), Path::new(folder), "{path}");
        }
    }
}
