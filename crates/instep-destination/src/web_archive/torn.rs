//! Files that a killed run left: their complete records are kept.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use instep_warc::WarcError;

use super::index;

/// The last part of the name of a file that is being written.
pub(super) const OPEN: &str = "open";

/// Repairs a file that was open when its run ended: a truncated last record is removed, and the file gets its index
/// and its name. A file with other damage is kept unchanged, under another name, because records after the damage may
/// be valid. An index that the file had before goes with its name: it would name a file that is not there.
///
/// The names are durable when the caller has made the folder durable.
pub(super) fn mend(open: &Path) -> io::Result<()> {
    let file = open.with_extension("");
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut scanned = index::scan(open, &name)?;
    match scanned.fault {
        Some(WarcError::Torn { .. }) => {
            let left = fs::metadata(open)?.len() - scanned.bytes;
            tracing::info!(file = %name, bytes = left, "a record that a killed run left unfinished is cut off");
            fs::OpenOptions::new().write(true).open(open)?.set_len(scanned.bytes)?;
        }
        Some(fault) => {
            tracing::warn!(file = %name, %fault, "a damaged file of the archive is renamed");
            index::remove(&file)?;
            return fs::rename(open, open.with_extension("damaged"));
        }
        None => {}
    }
    if scanned.bytes == 0 {
        index::remove(&file)?;
        return fs::remove_file(open);
    }
    // The killed run may not have synced its last records. Nobody scans a file that has its name and its index again, so
    // the bytes that are cut off must not come back, and those that are listed must not go.
    File::open(open)?.sync_all()?;
    index::write(&file, &mut scanned.lines)?;
    fs::rename(open, file)
}
