//! The part of a document that is being read: UTF-8, counted in bytes and lines, and no more of it than is allowed.

use std::{
    io::{self, BufRead},
    ops::Range,
};

use super::{
    Limits,
    scan::{self, Fault, Piece},
};
use crate::{error::LimitKind, finding::Position};

/// How much is read in one go.
const BLOCK: usize = 64 << 10;
/// Bytes of the longest character.
const CHARACTER: usize = 4;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Hands out the pieces of a document one by one; holds the one handed out last and what was read after it.
#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    limits: Limits,
    held: Held,
    /// Bytes of the document before the text.
    start: u64,
    /// Up to here the text was handed out.
    at: usize,
    /// Up to here the lines of the text were counted.
    counted: usize,
    lines_before: u64,
    line_start: u64,
}

/// What was read.
#[derive(Debug, Default)]
struct Held {
    text: String,
    /// The first bytes of a character whose rest was not read yet.
    split: [u8; CHARACTER],
    split_bytes: usize,
}

/// Why there is no next piece.
#[derive(Debug)]
pub(super) enum Stop {
    Io(io::Error),
    Limit(LimitKind, u64),
    /// A control character that XML does not allow, at an offset.
    Control(u64),
    /// Bytes that are no UTF-8, at an offset.
    Encoding(u64),
    /// Markup without its end.
    Unclosed,
    /// A reference without its end.
    Reference,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Markup => Self::Unclosed,
            Fault::Reference => Self::Reference,
        }
    }
}

impl<R: BufRead> Window<R> {
    pub(super) fn new(source: R, limits: Limits) -> Self {
        Self {
            source,
            limits,
            held: Held::default(),
            start: 0,
            at: 0,
            counted: 0,
            lines_before: 0,
            line_start: 0,
        }
    }

    /// Bytes of the document before the next piece. A byte order mark does not count.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The next piece and where it lies in the text; none at the end of the document.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(Piece, Range<usize>)>, Stop> {
        loop {
            let found = match scan::front(&self.held.text.as_bytes()[self.at..])? {
                Some(found) => found,
                None if self.fill()? => continue,
                None => match self.last()? {
                    Some(found) => found,
                    None => return Ok(None),
                },
            };
            let from = self.at;
            self.at += found.1;
            return Ok(Some((found.0, from..self.at)));
        }
    }

    /// The text that pieces lie in.
    pub(super) fn text(&self) -> &str {
        &self.held.text
    }

    /// The same, taken out for a while. Until it is put back, nothing else can be asked for.
    pub(super) fn lend(&mut self) -> String {
        std::mem::take(&mut self.held.text)
    }

    pub(super) fn put_back(&mut self, text: String) {
        self.held.text = text;
    }

    /// The line and column of an offset not before the piece handed out last. Offsets must not go back.
    pub(super) fn position(&mut self, offset: u64) -> Position {
        self.count_lines(offset.saturating_sub(self.start) as usize);
        Position { line: self.lines_before + 1, column: offset.saturating_sub(self.line_start) + 1, offset }
    }

    fn count_lines(&mut self, upto: usize) {
        let uncounted = self.held.text.as_bytes().get(self.counted..upto).unwrap_or_default();
        for newline in memchr::memchr_iter(b'\n', uncounted) {
            self.lines_before += 1;
            self.line_start = self.start + (self.counted + newline) as u64 + 1;
        }
        self.counted = self.counted.max(upto);
    }

    /// What stands at the end of the document.
    fn last(&self) -> Result<Option<(Piece, usize)>, Stop> {
        match &self.held.text.as_bytes()[self.at..] {
            [] => Ok(None),
            [b'<', ..] => Err(Stop::Unclosed),
            [b'&', ..] => Err(Stop::Reference),
            rest => Ok(Some(scan::last_text(rest))),
        }
    }

    /// Reads on, and forgets what was handed out. False at the end of the document.
    ///
    /// Never more is held than the piece at the front may have; so none is handed out that is longer.
    #[cold]
    #[inline(never)]
    fn fill(&mut self) -> Result<bool, Stop> {
        self.forget();
        let (room, end) = (self.room(), self.start + self.held.text.len() as u64);
        while let Err(error) = self.source.fill_buf() {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Stop::Io(error));
            }
        }
        let bytes = self.source.fill_buf().map_err(Stop::Io)?;
        // A document that is exactly as long as the limit ends here in peace.
        if bytes.is_empty() {
            return if self.held.split_bytes == 0 { Ok(false) } else { Err(Stop::Encoding(end)) };
        }
        let taken = self.held.take(&bytes[..bytes.len().min(room?)], end)?;
        self.source.consume(taken);
        if end == 0 && self.held.text.starts_with(BYTE_ORDER_MARK) {
            self.held.text.drain(..BYTE_ORDER_MARK.len_utf8());
        }
        Ok(true)
    }

    fn forget(&mut self) {
        self.count_lines(self.at);
        self.held.text.drain(..self.at);
        self.start += self.at as u64;
        self.counted -= self.at;
        self.at = 0;
    }

    fn room(&self) -> Result<usize, Stop> {
        let held = (self.held.text.len() + self.held.split_bytes) as u64;
        let token = self.limits.token_bytes.saturating_sub(held);
        let all = self.limits.bytes.saturating_sub(self.start + held);
        match (token, all) {
            (_, 0) => Err(Stop::Limit(LimitKind::Bytes, self.limits.bytes)),
            (0, _) => Err(Stop::Limit(LimitKind::TokenBytes, self.limits.token_bytes)),
            (token, all) => Ok(token.min(all).min(BLOCK as u64) as usize),
        }
    }
}

impl Held {
    /// Takes what is UTF-8 and allowed in XML at the front of some bytes that stand at an offset. How many were taken.
    fn take(&mut self, bytes: &[u8], offset: u64) -> Result<usize, Stop> {
        if self.split_bytes > 0 {
            return self.complete(bytes[0], offset).map(|()| 1);
        }
        let valid = match std::str::from_utf8(bytes) {
            Ok(valid) => valid,
            Err(error) => match (error.valid_up_to(), error.error_len()) {
                (0, Some(_)) => return Err(Stop::Encoding(offset)),
                (0, None) => {
                    self.split[..bytes.len()].copy_from_slice(bytes);
                    self.split_bytes = bytes.len();
                    return Ok(bytes.len());
                }
                (valid, _) => std::str::from_utf8(&bytes[..valid]).unwrap_or_default(),
            },
        };
        let allowed = match first_control(valid.as_bytes()) {
            Some(0) => return Err(Stop::Control(offset)),
            Some(control) => &valid[..control],
            None => valid,
        };
        self.text.push_str(allowed);
        Ok(allowed.len())
    }

    /// Takes one more byte of a character that came in parts.
    fn complete(&mut self, byte: u8, offset: u64) -> Result<(), Stop> {
        let (mut split, bytes) = (self.split, self.split_bytes + 1);
        split[bytes - 1] = byte;
        match std::str::from_utf8(&split[..bytes]) {
            Ok(character) => {
                self.text.push_str(character);
                self.split_bytes = 0;
            }
            Err(error) if error.error_len().is_none() => (self.split, self.split_bytes) = (split, bytes),
            Err(_) => return Err(Stop::Encoding(offset)),
        }
        Ok(())
    }
}

/// The first byte that XML 1.0 does not allow as a character.
fn first_control(bytes: &[u8]) -> Option<usize> {
    let forbidden = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
    // Blocks are folded without leaving early, which the compiler turns into vector instructions.
    let block =
        bytes.chunks(256).position(|block| block.iter().fold(false, |any, byte| any | forbidden(byte)))?;
    bytes[block * 256..].iter().position(forbidden).map(|index| block * 256 + index)
}

#[cfg(test)]
mod tests;
