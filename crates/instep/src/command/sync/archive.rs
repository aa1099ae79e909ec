//! `--warc`: the web archive that a run of `instep sync` writes.

use std::path::PathBuf;

use anyhow::bail;
use instep_destination::ArchiveOptions;

/// Returns the options of an archive.
///
/// Errors: its place cannot be a folder.
pub(super) fn archive(dir: PathBuf, file_bytes: u64) -> anyhow::Result<ArchiveOptions> {
    if dir.as_os_str().is_empty() {
        bail!("--warc is empty: name the folder of the archive");
    }
    if dir.exists() && !dir.is_dir() {
        bail!("--warc {} is not a folder: an archive is a folder of WARC files; name another", dir.display());
    }
    let mut archive = ArchiveOptions::new(dir);
    archive.file_bytes = file_bytes;
    Ok(archive)
}
