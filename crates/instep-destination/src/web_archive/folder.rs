//! The files of an archive: their names, the one that is being written, and the point at which the next begins.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use instep_store::{Lock, LockError, parent_folder};
use instep_warc::{CdxjLine, RecordPlace, WarcWriter, WrittenRecord};
use resourcesync::DateTime;

use super::{
    index,
    known::KnownPayloads,
    options::ArchiveOptions,
    torn::{self, OPEN},
};
use crate::{clock::now, store::StoreError};

/// The most records of a file. The lines of its index are in memory while it is written.
const MOST_RECORDS: usize = 100_000;

/// The most records of a file that is continued by another run. Each run that continues it writes its index anew, also each
/// round of a run that follows a Source.
const MOST_CONTINUED: usize = 10_000;

/// A folder of WARC files, each with its index, which one run at a time writes.
pub(super) struct ArchiveFolder {
    dir: PathBuf,
    file_bytes: u64,
    file: Option<OpenFile>,
    /// The number of files, which is a part of the name of the next one.
    files: u32,
    _lock: Lock,
}

/// The file that is being written.
pub(super) struct OpenFile {
    path: PathBuf,
    pub(super) name: String,
    pub(super) writer: WarcWriter<File>,
    lines: Vec<CdxjLine>,
}

impl ArchiveFolder {
    pub(super) fn open(options: &ArchiveOptions) -> Result<Self, StoreError> {
        let dir = options.dir.clone();
        let failed = |doing, error| StoreError::io(doing, dir.display().to_string(), error);
        let is_new = !dir.exists();
        fs::create_dir_all(&dir).map_err(|error| failed("create", error))?;
        // A parent folder that cannot be opened is not synced, but the archive is used.
        if is_new && let Ok(parent) = File::open(parent_folder(&dir)) {
            parent.sync_all().map_err(|error| failed("sync", error))?;
        }
        let folder = File::open(&dir).map_err(|error| failed("open", error))?;
        let lock = Lock::take(&folder, &format!("instep sync (process {})", std::process::id()));
        let lock = lock.map_err(|error| match error {
            LockError::Held { holder } => StoreError::Locked { path: dir.clone(), owner: holder },
            error => failed("lock", io::Error::other(error)),
        })?;
        let left = files(&dir, &format!(".warc.gz.{OPEN}")).map_err(|error| failed("read", error))?;
        for left in &left {
            torn::mend(left).map_err(|error| StoreError::io("mend", left.display().to_string(), error))?;
        }
        if !left.is_empty() {
            folder.sync_all().map_err(|error| failed("sync", error))?;
        }
        let files = files(&dir, ".warc.gz").map_err(|error| failed("read", error))?;
        let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
        Ok(Self { dir, file_bytes: options.file_bytes, file: None, files: count, _lock: lock })
    }

    /// Returns the newest payloads of the archive, by its indexes and the lines of the open file.
    pub(super) fn known(&self) -> io::Result<KnownPayloads> {
        let mut known = KnownPayloads::default();
        self.file.iter().for_each(|file| index::learn(&mut known, &file.lines));
        for file in files(&self.dir, ".warc.gz")?.iter().rev() {
            if known.is_full() {
                break;
            }
            index::learn(&mut known, &index::read(file)?.unwrap_or_default());
        }
        Ok(known)
    }

    /// Returns the file for the next record; `true` if it is new and empty.
    pub(super) fn current(&mut self) -> io::Result<(&mut OpenFile, bool)> {
        if self.file.as_ref().is_some_and(|file| file.is_full(self.file_bytes)) {
            self.close()?;
        }
        let mut is_new = false;
        if self.file.is_none() {
            let last = self.last()?;
            is_new = last.is_none();
            self.file = Some(last.map_or_else(|| self.begin(), Ok)?);
            // The file has its name on disk before the copy relies on its records. One that kept its former name would be
            // taken for complete, and might end within a record.
            File::open(&self.dir)?.sync_all()?;
        }
        let none = || io::Error::other("no file is open");
        self.file.as_mut().map(|file| (file, is_new)).ok_or_else(none)
    }

    /// Opens the last file again if it is not full, and its index not large.
    fn last(&self) -> io::Result<Option<OpenFile>> {
        let Some(path) = files(&self.dir, ".warc.gz")?.pop() else { return Ok(None) };
        let length = fs::metadata(&path)?.len();
        let Some(lines) = index::read(&path)? else { return Ok(None) };
        if length >= self.file_bytes || lines.len() >= MOST_CONTINUED {
            return Ok(None);
        }
        fs::rename(&path, open_name(&path))?;
        OpenFile::new(path, length, lines).map(Some)
    }

    fn begin(&mut self) -> io::Result<OpenFile> {
        loop {
            self.files = self.files.saturating_add(1);
            let time: String = to_seconds(now()).chars().filter(char::is_ascii_digit).collect();
            let path = self.dir.join(format!("instep-{time}-{:05}.warc.gz", self.files));
            if !path.exists() {
                return OpenFile::new(path, 0, Vec::new());
            }
        }
    }

    /// Returns `true` if a file is open that takes another record.
    pub(super) fn has_room(&self) -> bool {
        self.file.as_ref().is_some_and(|file| !file.is_full(self.file_bytes))
    }

    /// Writes what is still in memory. Returns another handle of the open file, for the caller that makes it durable.
    pub(super) fn flush(&mut self) -> io::Result<Option<File>> {
        self.file.as_mut().map(OpenFile::flush).transpose()
    }

    /// Writes the index of the open file, and gives the file its final name.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.flush()?.sync_data()?;
        index::write(&file.path, &mut file.lines)?;
        fs::rename(open_name(&file.path), &file.path)?;
        File::open(&self.dir)?.sync_all()
    }
}

impl OpenFile {
    fn new(path: PathBuf, length: u64, lines: Vec<CdxjLine>) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(open_name(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let writer = WarcWriter::new(file, length);
        Ok(Self { path, name, writer, lines })
    }

    fn is_full(&self, file_bytes: u64) -> bool {
        self.writer.offset() >= file_bytes || self.lines.len() >= MOST_RECORDS
    }

    pub(super) fn list(&mut self, line: impl FnOnce(RecordPlace<'_>) -> Option<CdxjLine>, at: WrittenRecord) {
        let place = RecordPlace { file: &self.name, offset: at.offset, length: at.length };
        self.lines.extend(line(place));
    }

    fn flush(&mut self) -> io::Result<File> {
        self.writer.flush()?;
        self.writer.get_ref().try_clone()
    }
}

fn open_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(OPEN);
    name.into()
}

/// Returns the files of the archive whose names have this ending. The order of their names is that of their times.
fn files(dir: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let is_ours = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with("instep-") && name.ends_with(ending));
        if is_ours && entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns a time in whole seconds, as written in records.
pub(super) fn to_seconds(time: DateTime) -> String {
    DateTime::from_unix_seconds(time.instant().0).to_string()
}
