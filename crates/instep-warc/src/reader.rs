//! The reader: records of any WARC, each a gzip member, several in one, or not compressed at all.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
};

use flate2::bufread::GzDecoder;

use crate::{
    error::WarcError,
    head::{WarcField, WarcHead},
};

/// The most bytes of a line in a head. A longer line is an attack, or the file is no WARC.
const MOST_LINE: u64 = 64 << 10;
/// The most fields of a head.
const MOST_FIELDS: usize = 1_000;
/// The most bytes of a head: a value may continue over any number of lines, and a small gzip member may have many.
const MOST_HEAD: usize = 1 << 20;

/// A record while it is read.
pub struct WarcRecord<'a> {
    /// The first byte of the record, or of the gzip member that has it.
    pub offset: u64,
    /// Its head.
    pub head: &'a WarcHead<'static>,
    /// The length of its block in bytes.
    pub length: u64,
    /// Its block. Unread bytes are skipped.
    pub block: &'a mut dyn BufRead,
}

impl fmt::Debug for WarcRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarcRecord")
            .field("offset", &self.offset)
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

/// Receives each record.
type Take<'t> = &'t mut dyn FnMut(WarcRecord<'_>) -> io::Result<()>;

/// Reads the records of a file one after the other.
#[derive(Debug)]
pub struct WarcReader<R> {
    input: CountedInput<R>,
}

impl<R: BufRead> WarcReader<R> {
    /// Returns a reader that begins at the first byte of a file.
    pub fn new(input: R) -> Self {
        Self::at(input, 0)
    }

    /// Returns a reader of input that begins at a byte of the file.
    pub fn at(input: R, offset: u64) -> Self {
        Self { input: CountedInput { input, count: offset } }
    }

    /// Returns the byte of the file up to which it was read.
    pub fn offset(&self) -> u64 {
        self.input.count
    }

    /// Passes the next record, or all records of the next gzip member, to `take`. Returns `false` at the end.
    ///
    /// # Errors
    /// If there is no record, only a part of one, or `take` fails.
    pub fn next(&mut self, take: Take<'_>) -> Result<bool, WarcError> {
        let offset = self.input.count;
        let of_input = |source| fault(offset, source);
        let start = self.input.fill_buf().map_err(of_input)?;
        match start.first() {
            None => Ok(false),
            Some(0x1f) => {
                let mut member = BufReader::new(GzDecoder::new(&mut self.input));
                let mut found = false;
                while read_record(&mut member, offset, !found, take)? {
                    found = true;
                }
                if found {
                    Ok(true)
                } else {
                    Err(WarcError::Malformed { offset, what: "an empty gzip member".to_owned() })
                }
            }
            Some(_) => read_record(&mut self.input, offset, true, take),
        }
    }
}

fn read_record(
    input: &mut dyn BufRead,
    offset: u64,
    is_first: bool,
    take: Take<'_>,
) -> Result<bool, WarcError> {
    if !begins_record(input, offset, is_first)? {
        return Ok(false);
    }
    let fields = read_fields(input, offset)?;
    let length = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
    let length = length.and_then(|(_, value)| value.parse().ok());
    let length: u64 =
        length.ok_or_else(|| WarcError::Malformed { offset, what: "no Content-Length".to_owned() })?;
    let head = WarcHead::of_fields(fields);
    let mut block = Block { input, left: length };
    take(WarcRecord { offset, head: &head, length, block: &mut block })
        .map_err(|source| fault(offset, source))?;
    io::copy(&mut block, &mut io::sink()).map_err(|source| fault(offset, source))?;
    Ok(true)
}

/// Reads the line with which a record begins. Returns `false` if the input ends before it.
fn begins_record(input: &mut dyn BufRead, offset: u64, is_first: bool) -> Result<bool, WarcError> {
    let version = loop {
        // If a record came before, an error here lies after that record: a gzip member with a wrong checksum.
        let next = line(input, offset).map_err(|error| match error {
            WarcError::Malformed { offset, what } if !is_first => WarcError::Checksum { offset, what },
            error => error,
        });
        match next? {
            None => return Ok(false),
            Some(line) if line.is_empty() => {}
            Some(line) => break line,
        }
    };
    if version.starts_with("WARC/") {
        return Ok(true);
    }
    let found: String = version.chars().take(40).collect();
    Err(WarcError::Malformed { offset, what: format!("{found:?} instead of WARC/1.0 or WARC/1.1") })
}

/// Reads the fields of a head, and the empty line after them.
fn read_fields(input: &mut dyn BufRead, offset: u64) -> Result<Vec<WarcField<'static>>, WarcError> {
    let malformed = |what: String| WarcError::Malformed { offset, what };
    let mut fields: Vec<WarcField<'static>> = Vec::with_capacity(12);
    let mut bytes = 0;
    loop {
        let line = line(input, offset)?.ok_or(WarcError::Torn { offset })?;
        if line.is_empty() {
            return Ok(fields);
        }
        bytes += line.len();
        if bytes > MOST_HEAD {
            return Err(malformed("a head of more than 1 MiB".to_owned()));
        }
        match (line.split_once(':'), fields.last_mut()) {
            // A value may continue in the next line, which then begins with a blank.
            (_, Some((_, value))) if line.starts_with([' ', '\t']) => {
                let value = value.to_mut();
                value.push(' ');
                value.push_str(line.trim());
            }
            (Some((name, value)), _) => {
                fields.push((name.trim().to_owned().into(), value.trim().to_owned().into()));
            }
            (None, _) => return Err(malformed(format!("{line:?} is no field"))),
        }
        if fields.len() > MOST_FIELDS {
            return Err(malformed("more than 1,000 fields".to_owned()));
        }
    }
}

/// A block of a known length. Input that ends before it is an error: whoever reads a part must not take it for all of it
/// (B37).
struct Block<'a> {
    input: &'a mut dyn BufRead,
    left: u64,
}

impl Read for Block<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let amount = bytes.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&bytes[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}

impl BufRead for Block<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Ok(&[]);
        }
        let bytes = self.input.fill_buf()?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        Ok(&bytes[..most])
    }

    fn consume(&mut self, amount: usize) {
        self.left -= amount as u64;
        self.input.consume(amount);
    }
}

/// Returns the next line without its end; `None` if there is nothing more.
fn line(input: &mut dyn BufRead, offset: u64) -> Result<Option<String>, WarcError> {
    let mut line = Vec::new();
    input.take(MOST_LINE).read_until(b'\n', &mut line).map_err(|source| fault(offset, source))?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            // Fields are UTF-8; other bytes are kept readable, because one bad field is no reason to lose a record.
            Ok(Some(String::from_utf8_lossy(&line).into_owned()))
        }
        Some(_) if line.len() as u64 + 1 >= MOST_LINE => {
            Err(WarcError::Malformed { offset, what: "a line of more than 64 KiB".to_owned() })
        }
        Some(_) => Err(WarcError::Torn { offset }),
    }
}

fn fault(offset: u64, source: io::Error) -> WarcError {
    match source.kind() {
        io::ErrorKind::UnexpectedEof => WarcError::Torn { offset },
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            WarcError::Malformed { offset, what: source.to_string() }
        }
        _ => WarcError::Io { offset, source },
    }
}

/// Input whose bytes are counted as they are consumed.
#[derive(Debug)]
struct CountedInput<R> {
    input: R,
    count: u64,
}

impl<R: BufRead> Read for CountedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for CountedInput<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count += amount as u64;
        self.input.consume(amount);
    }
}

#[cfg(test)]
mod tests;
