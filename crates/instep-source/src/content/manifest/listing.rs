//! The lines of a manifest in the order of the catalogue, sorted outside of memory.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufRead, BufReader},
    sync::atomic::Ordering,
    time::SystemTime,
};

use rusqlite::{Connection, params};

use super::{
    Manifest, input,
    line::{Listed, ManifestLine, read_json},
    names::{misspelt, misspelt_in},
};
use crate::{Error, PublishMonitor, PublishProblem};

const PAGE: usize = 512;

/// The resources that a manifest names, by URI.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    manifest: &'a Manifest,
    /// A database of this process alone, on disk as far as it does not fit into a small cache.
    sorted: Connection,
    /// `true` if resources that are not named are deleted: not if lines name changes, not if a line could not be read, and
    /// not if the manifest was written meanwhile.
    pub(crate) complete: bool,
    pub(crate) wrong: u64,
    /// The misspelt names that were reported.
    misspelt: BTreeSet<String>,
}

impl Manifest {
    /// Reads the lines, sorted; returns `None` if they come from standard input and were read before.
    ///
    /// # Errors
    /// If it cannot be read, or its header line is wrong. A wrong line is reported and left out.
    pub(crate) fn read(&self, monitor: &dyn PublishMonitor) -> Result<Option<Listing<'_>>, Error> {
        if self.is_standard_input() {
            let was_taken = self.taken.swap(true, Ordering::SeqCst);
            return (!was_taken).then(|| self.standard_input(monitor)).transpose();
        }
        let path = self.draft.as_deref().unwrap_or(&self.path);
        let file = File::open(path).map_err(Error::read(path))?;
        let before = written(&file).map_err(Error::read(path))?;
        let input = file.try_clone().map_err(Error::read(path))?;
        let mut listing = Listing::read(self, Box::new(BufReader::new(input)), monitor)?;
        // Lines that name changes delete nothing else, and such a list may grow all the time.
        if listing.complete && written(&file).map_err(Error::read(path))? != before {
            listing.lacks_lines("was written while it was read", monitor);
        }
        Ok(Some(listing))
    }

    /// Reads the lines as [`Manifest::read`] does, so that they can be read once more; returns `None` if that was the last
    /// time.
    ///
    /// # Errors
    /// As [`Manifest::read`].
    pub(crate) fn look(&self, monitor: &dyn PublishMonitor) -> Result<Option<Listing<'_>>, Error> {
        if !self.is_standard_input() {
            return self.read(monitor);
        }
        let input = input::look().map_err(Error::read(&self.path))?;
        input.map(|input| Listing::read(self, input, monitor)).transpose()
    }

    fn standard_input(&self, monitor: &dyn PublishMonitor) -> Result<Listing<'_>, Error> {
        match input::take().map_err(Error::read(&self.path))? {
            Some(input) => Listing::read(self, input, monitor),
            // An earlier publication of this process has taken it, as before a server got other options.
            None => {
                let mut listing = Listing::read(self, Box::new(io::empty()), monitor)?;
                listing.lacks_lines("was read before, and can be read once only", monitor);
                Ok(listing)
            }
        }
    }
}

/// Returns the length of a file and the time of its last write, which show if it is written while it is read; `None` for a
/// pipe, which is written all the time.
fn written(file: &File) -> io::Result<Option<(u64, SystemTime)>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    Ok(Some((metadata.len(), metadata.modified()?)))
}

impl<'a> Listing<'a> {
    fn read(
        manifest: &'a Manifest,
        input: Box<dyn BufRead>,
        monitor: &dyn PublishMonitor,
    ) -> Result<Self, Error> {
        let sorted = Connection::open("").map_err(|error| manifest.failed(&error))?;
        sorted
            .execute_batch(
                "CREATE TABLE line (uri TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID; BEGIN",
            )
            .map_err(|error| manifest.failed(&error))?;
        let mut listing = Self { manifest, sorted, complete: true, wrong: 0, misspelt: BTreeSet::new() };
        let is_csv = manifest.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        listing.take_all(input, is_csv, monitor)?;
        Ok(listing)
    }

    fn take_all(
        &mut self,
        mut input: Box<dyn BufRead>,
        is_csv: bool,
        monitor: &dyn PublishMonitor,
    ) -> Result<(), Error> {
        let path = &self.manifest.path;
        // Some programs write this mark before UTF-8.
        if input.fill_buf().map_err(Error::read(path))?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        // JSON Lines begin with a brace, in any file.
        let is_json =
            !is_csv && input.fill_buf().map_err(Error::read(path))?.trim_ascii_start().first() == Some(&b'{');
        if is_json {
            // As bytes, so that a line that is not UTF-8 affects no other line.
            for (number, line) in (1..).zip(input.split(b'\n')) {
                let line = line.map_err(Error::read(path))?;
                if !line.trim_ascii().is_empty() {
                    let read = read_json(&line);
                    self.warn_of_names(number, misspelt_in(&line), monitor);
                    self.take(number, read, monitor)?;
                }
            }
            return Ok(());
        }
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
        let headers = reader.headers().map_err(|error| {
            let fault = self.manifest.fault_of_line(error, &csv::StringRecord::new());
            fault.map_or_else(|failed| failed, |what| self.manifest.wrong(1, what))
        })?;
        if !headers.is_empty() && !headers.iter().any(|name| name == "uri") {
            let what = "the first line must name the columns, among them \"uri\"";
            return Err(self.manifest.wrong(1, what.to_owned()));
        }
        let headers = headers.clone();
        self.warn_of_names(1, misspelt(&headers), monitor);
        let mut record = csv::StringRecord::new();
        loop {
            let read = reader.read_record(&mut record);
            if matches!(read, Ok(false)) {
                break;
            }
            let line = match read.and_then(|_| record.deserialize(Some(&headers))) {
                Ok(line) => Ok(line),
                Err(error) => Err(self.manifest.fault_of_line(error, &headers)?),
            };
            let number = record.position().map_or(0, csv::Position::line);
            self.take(number, line, monitor)?;
        }
        Ok(())
    }

    /// Reports that not all lines may have been read: resources that are not named are not deleted.
    fn lacks_lines(&mut self, why: &str, monitor: &dyn PublishMonitor) {
        self.wrong += 1;
        self.complete = false;
        let what = format!("{why}: resources that it does not name stay published until it is read again");
        monitor.problem(&PublishProblem::skipped(self.path(), what));
    }

    /// Warns of a misspelt name, once for each: usually all lines have it.
    fn warn_of_names(&mut self, number: u64, misspelt: Option<String>, monitor: &dyn PublishMonitor) {
        let Some(what) = misspelt else { return };
        if self.misspelt.insert(what.clone()) {
            let subject = format!("{}, line {number}", self.manifest.path.display());
            monitor.problem(&PublishProblem::warning(subject, what));
        }
    }

    /// Keeps a line, or returns a sentence that describes its fault.
    fn take(
        &mut self,
        number: u64,
        line: Result<ManifestLine, String>,
        monitor: &dyn PublishMonitor,
    ) -> Result<(), Error> {
        let checked = line.and_then(|line| line.listed(&self.manifest.folder).map(|_| line));
        let kept = checked.and_then(|mut line| {
            if let Some((written, recorded)) = &self.manifest.recorded_below
                && let Some(rest) = line.uri.strip_prefix(written.as_str())
            {
                line.uri = format!("{recorded}{rest}");
            }
            self.complete &= line.change.is_none();
            let text = serde_json::to_string(&line).map_err(|error| error.to_string())?;
            match self.keep(&line.uri, &text) {
                Ok(0) => Err(format!("{} occurs twice", line.uri)),
                other => Ok(other),
            }
        });
        match kept {
            Ok(kept) => kept.map(drop).map_err(|error| self.manifest.failed(&error)),
            Err(what) => {
                self.wrong += 1;
                self.complete = false;
                let subject = format!("{}, line {number}", self.manifest.path.display());
                monitor.problem(&PublishProblem::skipped(subject, what));
                Ok(())
            }
        }
    }

    fn keep(&self, uri: &str, text: &str) -> rusqlite::Result<usize> {
        self.sorted.prepare_cached("INSERT OR IGNORE INTO line VALUES (?1, ?2)")?.execute([uri, text])
    }

    /// Passes the named resources to `take`, in the order of their keys, each with the sets that take it.
    pub(crate) fn for_each(
        &self,
        mut take: impl FnMut(Listed, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut after = String::new();
        loop {
            let page = self.page(&after).map_err(|error| self.manifest.failed(&error))?;
            for text in &page {
                let line: ManifestLine =
                    serde_json::from_str(text).map_err(|error| self.manifest.wrong(0, error.to_string()))?;
                let listed =
                    line.listed(&self.manifest.folder).map_err(|what| self.manifest.wrong(0, what))?;
                after = line.uri;
                match self.manifest.sets_of(&after) {
                    0 => {}
                    sets => take(listed, sets)?,
                }
            }
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Returns the number of the manifest in the catalogue.
    pub(crate) fn number(&self) -> u8 {
        self.manifest.number
    }

    /// Returns the path of the manifest.
    pub(crate) fn path(&self) -> String {
        self.manifest.path.display().to_string()
    }

    /// Returns `true` if a line has this URI.
    pub(crate) fn names(&self, uri: &str) -> Result<bool, Error> {
        let find = || self.sorted.prepare_cached("SELECT 1 FROM line WHERE uri = ?1")?.exists([uri]);
        find().map_err(|error| self.manifest.failed(&error))
    }

    /// Returns `true` if a line has a URI below a base URL.
    pub(crate) fn names_below(&self, base: &str) -> Result<bool, Error> {
        // URIs are ASCII.
        let find = || {
            self.sorted
                .prepare_cached("SELECT 1 FROM line WHERE uri >= ?1 AND uri < ?1 || char(127) LIMIT 1")?
                .exists([base])
        };
        find().map_err(|error| self.manifest.failed(&error))
    }

    fn page(&self, after: &str) -> rusqlite::Result<Vec<String>> {
        self.sorted
            .prepare_cached("SELECT text FROM line WHERE uri > ?1 ORDER BY uri LIMIT ?2")?
            .query_map(params![after, PAGE as i64], |row| row.get(0))?
            .collect()
    }
}

impl Manifest {
    fn failed(&self, error: &rusqlite::Error) -> Error {
        Error::Read { path: self.path.clone(), source: io::Error::other(error.to_string()) }
    }

    fn wrong(&self, line: u64, what: String) -> Error {
        Error::Manifest { path: self.path.clone(), line, what }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read, Write},
        path::{Path, PathBuf},
        sync::Mutex,
    };

    use super::*;
    use crate::{NoMonitor, content::filter::Filter};

    /// A program that writes a line into a manifest while it is read.
    struct WritingProgram(PathBuf);

    impl PublishMonitor for WritingProgram {
        fn problem(&self, problem: &PublishProblem) {
            if problem.what.contains("lenght") {
                let mut file = File::options().append(true).open(&self.0).unwrap();
                file.write_all(b"http://h/z,1\n").unwrap();
            }
        }
    }

    #[test]
    fn o694_a_manifest_that_is_written_while_it_is_read_deletes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "uri,lenght\nhttp://h/a,1\n").unwrap();
        let filter = Filter::new(&[], &[]).unwrap();
        let manifest = Manifest::new(&path, folder.path(), "http://h/", 0, filter);
        let listing = manifest.read(&WritingProgram(path.clone())).unwrap().unwrap();
        assert_eq!((listing.complete, listing.wrong), (false, 1));
        let listing = manifest.read(&NoMonitor).unwrap().unwrap();
        assert_eq!((listing.complete, listing.wrong), (true, 0));
    }

    /// A monitor that keeps the faults.
    #[derive(Default)]
    struct ReportedFaults(Mutex<Vec<String>>);

    impl PublishMonitor for ReportedFaults {
        fn problem(&self, problem: &PublishProblem) {
            self.0.lock().unwrap().push(problem.what.clone());
        }
    }

    #[test]
    fn o805_a_wrong_value_of_csv_is_named_by_its_column() {
        let filter = Filter::new(&[], &[]).unwrap();
        let manifest = Manifest::new(Path::new("a.csv"), Path::new(""), "http://h/", 0, filter);
        let input = Box::new(io::Cursor::new("uri,length\nhttp://h/a,many\nhttp://h/b,1,2\nhttp://h/c,1\n"));
        let faults = ReportedFaults::default();
        let listing = Listing::read(&manifest, input, &faults).unwrap();
        assert_eq!(listing.wrong, 2);
        assert_eq!(
            *faults.0.lock().unwrap(),
            ["length: it is not a whole number", "the number of its values is 3, and that of the columns 2"]
        );
    }

    /// A disk that fails after some bytes.
    struct FailingDisk(io::Cursor<&'static str>);

    impl Read for FailingDisk {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the disk fails")),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn o474_a_manifest_whose_disk_fails_halfway_is_not_read_as_a_shorter_one() {
        for (name, text) in [
            ("a.csv", "uri,length\nhttp://h/a,1\nhttp://h/b,"),
            ("a.csv", "uri,"),
            ("a.jsonl", "{\"uri\": \"http://h/a\"}\n{"),
        ] {
            let filter = Filter::new(&[], &[]).unwrap();
            let manifest = Manifest::new(Path::new(name), Path::new(""), "http://h/", 0, filter);
            let input = Box::new(BufReader::new(FailingDisk(io::Cursor::new(text))));
            let read = Listing::read(&manifest, input, &NoMonitor);
            assert!(matches!(read, Err(Error::Read { .. })), "{name} {text}: {read:?}");
        }
    }
}
