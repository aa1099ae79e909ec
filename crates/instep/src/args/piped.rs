//! Files that options name, some of which can be read once only.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The texts of pipes and of standard input.
static KEPT: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// Returns the text of a file; `-` is standard input. What comes from there or from a pipe stays in use: SIGHUP has all
/// options read again, and then nothing is left in it.
///
/// Errors: the file cannot be read.
pub(crate) fn text_of(file: &Path) -> io::Result<String> {
    let is_input = file.as_os_str() == "-";
    if !is_input && fs::metadata(file)?.is_file() {
        return fs::read_to_string(file);
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = kept.get(file) {
        return Ok(text.clone());
    }
    let text = if is_input { io::read_to_string(io::stdin())? } else { fs::read_to_string(file)? };
    kept.insert(file.to_owned(), text.clone());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, os::fd::IntoRawFd as _};

    use super::*;

    #[test]
    fn o557_what_came_from_a_pipe_is_there_when_the_options_are_read_again() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"a.txt\n").unwrap();
        drop(writer);
        // Stays open, so that no other test of this process has the number.
        let number = reader.into_raw_fd();
        let file = PathBuf::from(format!("/dev/fd/{number}"));
        for _ in 0..2 {
            assert_eq!(text_of(&file).unwrap(), "a.txt\n");
        }
    }
}
