//! The resources of a web archive as content of a Source: the newest state of each, unpacked, with a manifest of them.

mod documents;
mod states;

use std::{
    fs::{self, File},
    io::{BufReader, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use instep_warc::{WarcError, WarcReader};
use serde_json::json;

use states::States;

/// The folder of the unpacked bodies, in that of the catalogue, and the manifest in it.
const FOLDER: &str = "web-archive";
const MANIFEST: &str = "resources.jsonl";

/// An archive that was unpacked.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// The manifest of its resources.
    pub(crate) manifest: PathBuf,
    /// Records that could not be used, each with its file and the byte where it begins.
    pub(crate) faults: Vec<String>,
    /// Resources that are not below the base URL.
    pub(crate) elsewhere: u64,
}

/// Returns `true` if a path names a web archive: a WARC file, or a folder that has some.
pub(crate) fn is_web_archive(path: &Path) -> bool {
    is_warc(path) || path.is_dir() && files(path).is_ok_and(|files| !files.is_empty())
}

fn is_warc(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".warc") || name.ends_with(".warc.gz")
}

/// Unpacks the resources of an archive that lie below a base URL, below the folder of a catalogue. A record that cannot be
/// read costs itself, and what comes after it in its file if nobody knows where that begins.
///
/// Errors: the archive cannot be read at all, or the folder cannot be written.
pub(crate) fn unpack(archive: &Path, base_url: &str, state: &Path) -> anyhow::Result<Unpacked> {
    let folder = std::path::absolute(state.join(FOLDER))?;
    fs::create_dir_all(&folder).with_context(|| format!("Cannot write {}", folder.display()))?;
    let files = if archive.is_dir() { files(archive)? } else { vec![archive.to_owned()] };
    let mut states = States::begin(base_url, &folder)?;
    let mut faults = Vec::new();
    for file in &files {
        let opened = File::open(file).with_context(|| format!("Cannot read {}", file.display()))?;
        let mut reader = WarcReader::new(BufReader::with_capacity(256 << 10, opened));
        loop {
            let mut fault = None;
            let next = reader.next(&mut |record| {
                let offset = record.offset;
                if let Some(what) = states.take(record)? {
                    fault = Some(format!("{}, the record at byte {offset}: {what}", file.display()));
                }
                Ok(())
            });
            faults.extend(fault);
            match next {
                Ok(true) => {}
                Ok(false) => break,
                Err(WarcError::Io { source, .. }) => {
                    return Err(source).with_context(|| format!("Cannot unpack {}", file.display()));
                }
                Err(error) => {
                    faults.push(format!("{}: {error}", file.display()));
                    break;
                }
            }
        }
    }
    let elsewhere = states.elsewhere();
    let manifest = folder.join(MANIFEST);
    let mut list = tempfile::NamedTempFile::new_in(&folder)?;
    let mut out = BufWriter::new(list.as_file_mut());
    let found = states.each(&mut |uri, state| {
        let line = json!({
            "uri": uri, "path": folder.join(&state.body), "length": state.length,
            "hash": format!("sha-256:{}", state.body), "type": state.media_type, "lastmod": state.lastmod,
        });
        writeln!(out, "{line}")
    })?;
    out.flush()?;
    drop(out);
    if found == 0 {
        bail!("{} has no resource below {base_url}", archive.display());
    }
    list.persist(&manifest)?;
    // Bodies that nothing names any more.
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != MANIFEST && !states.uses(&name)? {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(Unpacked { manifest, faults, elsewhere })
}

/// Returns the WARC files of a folder, in the order of their names.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("Cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|path| is_warc(path) && path.is_file());
    files.sort_unstable();
    Ok(files)
}
