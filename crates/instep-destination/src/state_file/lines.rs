//! Lines of JSON: a header, one line for each record, and one with their number and digest.

use std::io::{self, BufRead, Read as _, Write};

use resourcesync::{Algorithm, Digests, Hasher};
use serde::{Deserialize, Serialize};

use super::figures::StateFigures;
use crate::{
    clock::now,
    records::state_line::{VERSION, from_line, to_line},
    state::StateRecord,
};

/// The most bytes of a line: more than any group of a run, and few enough for the memory of any machine.
const LONGEST: u64 = 64 << 20;

/// Lines that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineFault {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("this is not the output of instep state export")]
    Foreign,
    #[error("the lines have version {found}; this program knows versions up to {known}")]
    Newer { found: u32, known: u32 },
    #[error("line {line}: {what}")]
    Line { line: u64, what: String },
    #[error("the file is cut off after line {after}: export the state again")]
    Cut { after: u64 },
    #[error("{what}")]
    Invalid { what: String },
}

/// The line before all records.
#[derive(Serialize, Deserialize)]
struct FirstLine {
    #[serde(rename = "instep state")]
    version: u32,
    program: String,
    exported: String,
    /// The highest number that a change of the copy may have had.
    last_change: i64,
}

/// The line after all records.
#[derive(Serialize, Deserialize)]
struct LastLine {
    end: FinalCount,
}

#[derive(Serialize, Deserialize)]
struct FinalCount {
    records: u64,
    /// The digest of all lines before.
    hash: String,
}

/// A digest of lines.
#[derive(Debug)]
pub(super) struct LineHasher(Hasher);

impl LineHasher {
    pub(super) fn new() -> Self {
        Self(Hasher::new(&[Algorithm::Sha256]))
    }

    pub(super) fn line(&mut self, line: &str) {
        self.0.update(line.as_bytes());
        self.0.update(b"\n");
    }

    pub(super) fn finish(self) -> Digests {
        self.0.finish()
    }
}

/// Writes the lines of an export.
pub(super) struct LineWriter<'w> {
    to: &'w mut dyn Write,
    hasher: LineHasher,
    figures: StateFigures,
}

impl<'w> LineWriter<'w> {
    pub(super) fn begin(to: &'w mut dyn Write, last_change: i64) -> Result<Self, LineFault> {
        let mut lines = Self { to, hasher: LineHasher::new(), figures: StateFigures::default() };
        lines.put(&json(&FirstLine {
            version: VERSION,
            program: format!("instep {}", env!("CARGO_PKG_VERSION")),
            exported: now().to_string(),
            last_change,
        })?)?;
        Ok(lines)
    }

    pub(super) fn write(&mut self, record: &StateRecord) -> Result<(), LineFault> {
        let line = to_line(record).map_err(|what| LineFault::Invalid { what })?;
        self.put(&line)?;
        self.figures.count(record);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<StateFigures, LineFault> {
        let hasher = std::mem::replace(&mut self.hasher, LineHasher::new());
        let (records, hash) = (self.figures.records, hasher.finish().to_string());
        self.put(&json(&LastLine { end: FinalCount { records, hash } })?)?;
        self.to.flush()?;
        Ok(self.figures)
    }

    fn put(&mut self, line: &str) -> Result<(), LineFault> {
        self.hasher.line(line);
        self.to.write_all(line.as_bytes())?;
        Ok(self.to.write_all(b"\n")?)
    }
}

fn json<T: Serialize>(line: &T) -> Result<String, LineFault> {
    serde_json::to_string(line).map_err(|error| LineFault::Invalid { what: error.to_string() })
}

/// Reads the lines of an export. The records count only when the last line has been read.
pub(super) struct LineReader<'r> {
    from: &'r mut dyn BufRead,
    version: u32,
    pub(super) last_change: i64,
    /// The digest of the lines so far; `None` after the last line.
    hasher: Option<LineHasher>,
    line: u64,
    pub(super) figures: StateFigures,
}

impl<'r> LineReader<'r> {
    /// Reads the first line.
    pub(super) fn begin(from: &'r mut dyn BufRead) -> Result<Self, LineFault> {
        let first = next_line(from).and_then(|first| first.ok_or(LineFault::Cut { after: 0 }));
        let first = first.map_err(|fault| if fault.is_text() { LineFault::Foreign } else { fault })?;
        let found: FirstLine = serde_json::from_str(&first).map_err(|_| LineFault::Foreign)?;
        if found.version > VERSION {
            return Err(LineFault::Newer { found: found.version, known: VERSION });
        }
        let mut hasher = LineHasher::new();
        hasher.line(&first);
        let (version, last_change) = (found.version, found.last_change);
        Ok(Self {
            from,
            version,
            last_change,
            hasher: Some(hasher),
            line: 1,
            figures: StateFigures::default(),
        })
    }

    /// Returns the next record; `None` after the last line, if that agrees with the lines before.
    pub(super) fn next(&mut self) -> Result<Option<StateRecord>, LineFault> {
        let Some(hasher) = &mut self.hasher else { return Ok(None) };
        let after = self.line;
        let line = next_line(self.from).map_err(|fault| {
            if fault.is_text() {
                LineFault::Line { line: after + 1, what: "it is not UTF-8".to_owned() }
            } else {
                fault
            }
        })?;
        let line = line.ok_or(LineFault::Cut { after })?;
        self.line += 1;
        if line.starts_with("{\"end\":") {
            return self.end(&line).map(|()| None);
        }
        hasher.line(&line);
        let record = from_line(self.version, &line);
        let record = record.map_err(|what| LineFault::Line { line: self.line, what })?;
        self.figures.count(&record);
        Ok(Some(record))
    }

    fn end(&mut self, line: &str) -> Result<(), LineFault> {
        let wrong = |what: &str| LineFault::Line { line: self.line, what: what.to_owned() };
        let LastLine { end } = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
        let found = self.hasher.take().map(|hasher| hasher.finish().to_string());
        if end.records != self.figures.records || found.as_deref() != Some(&end.hash) {
            return Err(wrong("the lines before are not those that were exported"));
        }
        match next_line(self.from)? {
            None => Ok(()),
            Some(_) => Err(wrong("something follows the last line")),
        }
    }
}

impl LineFault {
    fn is_text(&self) -> bool {
        matches!(self, Self::Cut { .. })
            || matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::InvalidData)
    }
}

/// Returns the next line without its end; `None` if there is none, or if it has no end.
fn next_line(from: &mut dyn BufRead) -> Result<Option<String>, LineFault> {
    let mut line = String::new();
    from.take(LONGEST).read_line(&mut line)?;
    match line.pop() {
        Some('\n') => Ok(Some(line)),
        _ => Ok(None),
    }
}
