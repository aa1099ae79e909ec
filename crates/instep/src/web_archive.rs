//! The resources of a web archive (WARC files) as content of a Source. The newest state of each resource is unpacked
//! into a file, and a manifest lists them. Writing web archives is not done here but by the Destination.

mod block;
mod digest;
mod documents;
mod faults;
mod records;
mod requests;
mod revisits;
mod states;
mod visit;

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use instep_warc::{WarcError, WarcReader, find_record};
use serde_json::json;

use faults::FaultList;
use states::States;

/// The folder of the unpacked bodies, in the folder of the catalogue.
const FOLDER: &str = "web-archive";
/// The manifest in that folder.
const MANIFEST: &str = "resources.jsonl";

/// The most places after damage at which a record is looked for in vain. Then the rest of the file is given up, because
/// a hostile file could cost much time at each.
const MOST_IN_VAIN: u32 = 1_000;

/// An archive that was unpacked.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// The manifest of its resources.
    pub(crate) manifest: PathBuf,
    /// The faults of records, each with its file and its first byte.
    pub(crate) faults: Vec<String>,
    /// The number of records about resources that are not below the base URL.
    pub(crate) elsewhere: u64,
}

/// Returns `true` if a path names a web archive: a WARC file, or a folder with WARC files.
pub(crate) fn is_web_archive(path: &Path) -> bool {
    is_warc(path) || path.is_dir() && files(path).is_ok_and(|files| !files.is_empty())
}

/// Returns advice to convert a file into WARC files, if it is a web archive in a form that is not read here; `None` for
/// all other files.
pub(crate) fn way_to_warc(path: &Path) -> Option<&'static str> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let ways = [
        (".warc.zst", "unpack it first: zstd -d FILE"),
        (".wacz", "unpack it first, and give its folder archive: unzip FILE"),
        (".arc", "convert it first: warcio recompress FILE NEW.warc.gz"),
        (".arc.gz", "convert it first: warcio recompress FILE NEW.warc.gz"),
        (".cdxj", "give the WARC files themselves"),
        (".cdx", "give the WARC files themselves"),
    ];
    ways.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, way)| way)
}

/// Returns the manifest of an archive that is unpacked into the folder of a catalogue.
///
/// Errors: the current folder cannot be read.
pub(crate) fn manifest_in(state: &Path) -> io::Result<PathBuf> {
    Ok(std::path::absolute(state.join(FOLDER))?.join(MANIFEST))
}

fn is_warc(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.ends_with(".warc") || name.ends_with(".warc.gz")
}

/// Unpacks the resources of an archive whose URIs are below a base URL, into the folder of a catalogue. A record that
/// cannot be read does not affect the records after it.
///
/// Errors: a file cannot be read at all, the folder cannot be written, or no resource is below the base URL.
pub(crate) fn unpack(archive: &Path, base_url: &str, state: &Path) -> anyhow::Result<Unpacked> {
    let folder = std::path::absolute(state.join(FOLDER))?;
    fs::create_dir_all(&folder).with_context(|| format!("Cannot write {}", folder.display()))?;
    let files = if archive.is_dir() { files(archive)? } else { vec![archive.to_owned()] };
    let mut states = States::begin(base_url, &folder)?;
    let mut faults = FaultList::default();
    for file in &files {
        unpack_file(file, &mut states, &mut faults)?;
    }
    states.settle_revisits(&mut |fault| faults.add(fault))?;
    let faults = faults.into_texts(&archive.display().to_string());
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
        let archive = archive.display().to_string();
        let fault = faults.first().map(|fault| fault.strip_prefix(&format!("{archive}: ")).unwrap_or(fault));
        let why = match (fault, states.first_elsewhere()) {
            (Some(fault), _) => format!(": {fault}"),
            (None, Some(uri)) => {
                format!(", but {uri}, for example; give the beginning of its URIs as --base-url")
            }
            (None, None) => String::new(),
        };
        bail!("{archive} has no resource below {base_url}{why}");
    }
    list.persist(&manifest)?;
    // Removes the bodies of an earlier run that the new manifest does not name.
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != MANIFEST && !states.uses(&name)? {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(Unpacked { manifest, faults, elsewhere })
}

/// Takes the records of one file into `states`.
///
/// Errors: the file cannot be read. Damage in the file is a fault.
fn unpack_file(path: &Path, states: &mut States, faults: &mut FaultList) -> anyhow::Result<()> {
    let unreadable = || format!("Cannot unpack {}", path.display());
    let open = |from: u64| -> io::Result<_> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(BufReader::with_capacity(256 << 10, file))
    };
    let mut reader = WarcReader::new(open(0).with_context(unreadable)?);
    // The number of places after a damage at which no record began. Until the next good record they count as one
    // damage, which is reported once.
    let mut in_vain = 0_u32;
    loop {
        let next = reader.next(&mut |record| {
            states.begin_record()?;
            let place = format!("{}, the record at byte {}", path.display(), record.offset);
            if let Some(what) = states.take(record, &place)? {
                faults.add(format!("{place}: {what}"));
            }
            Ok(())
        });
        match next {
            Ok(true) => in_vain = 0,
            Ok(false) => return Ok(()),
            Err(WarcError::Io { source, .. }) => return Err(source).with_context(unreadable),
            Err(error) => {
                if matches!(error, WarcError::Checksum { .. }) {
                    states.drop_record()?;
                }
                if in_vain == 0 {
                    faults.add(format!("{}: {error}", path.display()));
                }
                in_vain += 1;
                if in_vain > MOST_IN_VAIN {
                    return Ok(());
                }
                // The search begins one byte after the start of the damaged record, because the bytes read of it may
                // contain other records.
                let from = error.offset() + 1;
                let mut rest = open(from).with_context(unreadable)?;
                let Some(passed) = find_record(&mut rest).with_context(unreadable)? else { return Ok(()) };
                let at = from + passed;
                reader = WarcReader::at(open(at).with_context(unreadable)?, at);
            }
        }
    }
}

/// Returns the WARC files of a folder, in the order of their names.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("Cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| is_warc(path) && path.is_file());
    files.sort_unstable();
    Ok(files)
}
