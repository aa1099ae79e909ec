//! The part of a document that is being read: decoded to UTF-8, counted in bytes and lines, and bounded.

use std::{
    io::{self, BufRead},
    ops::Range,
};

use super::{
    Limits,
    scan::{self, MarkupFault, XmlPiece},
};
use crate::{error::LimitKind, finding::Position};

/// Bytes that are read at a time.
const BLOCK: usize = 64 << 10;
/// Bytes of the longest character.
const CHARACTER: usize = 4;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Yields the pieces of a document one by one. It holds the last piece and the bytes read after it.
#[derive(Debug)]
pub(super) struct DocumentWindow<R> {
    source: R,
    limits: Limits,
    held: HeldText,
    /// Offset of the text in the document.
    start: u64,
    /// End of the last piece in the text.
    at: usize,
    /// End of the part whose lines were counted.
    counted: usize,
    lines_before: u64,
    line_start: u64,
}

/// The text that was read and not forgotten yet.
#[derive(Debug, Default)]
struct HeldText {
    text: String,
    /// The first bytes of a character whose rest has not arrived yet.
    split: [u8; CHARACTER],
    split_bytes: usize,
}

/// The reason why there is no next piece.
#[derive(Debug)]
pub(super) enum Stop {
    Io(io::Error),
    Limit(LimitKind, u64),
    /// A character that XML does not allow, at an offset.
    Forbidden(u64),
    /// Bytes that are no UTF-8, at an offset.
    Encoding(u64),
    /// Markup without its end.
    Unclosed,
    /// A reference without its end.
    Reference,
}

impl From<MarkupFault> for Stop {
    fn from(fault: MarkupFault) -> Self {
        match fault {
            MarkupFault::Markup => Self::Unclosed,
            MarkupFault::Reference => Self::Reference,
        }
    }
}

impl<R: BufRead> DocumentWindow<R> {
    pub(super) fn new(source: R, limits: Limits) -> Self {
        Self {
            source,
            limits,
            held: HeldText::default(),
            start: 0,
            at: 0,
            counted: 0,
            lines_before: 0,
            line_start: 0,
        }
    }

    /// Lowers the limit of the document's bytes, once its kind is known.
    pub(super) fn limit_bytes(&mut self, bytes: u64) {
        self.limits.bytes = self.limits.bytes.min(bytes);
    }

    /// Returns the offset of the next piece. A byte order mark does not count.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Returns the next piece and its range in the text; `None` at the end of the document.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(XmlPiece, Range<usize>)>, Stop> {
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

    /// Returns the text that the ranges of pieces refer to.
    pub(super) fn text(&self) -> &str {
        &self.held.text
    }

    /// Lends the text. Nothing else may be called until it is put back.
    pub(super) fn lend(&mut self) -> String {
        std::mem::take(&mut self.held.text)
    }

    pub(super) fn put_back(&mut self, text: String) {
        self.held.text = text;
    }

    /// Returns the line and column of an offset that is not before the last piece. Offsets must not go back.
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

    /// Returns the piece at the end of the document.
    fn last(&self) -> Result<Option<(XmlPiece, usize)>, Stop> {
        match &self.held.text.as_bytes()[self.at..] {
            [] => Ok(None),
            [b'<', ..] => Err(Stop::Unclosed),
            [b'&', ..] => Err(Stop::Reference),
            rest => Ok(Some(scan::last_text(rest))),
        }
    }

    /// Reads more and forgets the pieces that were returned. Returns `false` at the end of the document.
    ///
    /// The window holds at most as many bytes as one piece may have, so no longer piece is ever returned.
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
        // A document that is exactly as long as the limit is not refused.
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

impl HeldText {
    /// Takes the bytes at the front that are UTF-8 and allowed in XML, and returns their number. The bytes are those at
    /// `offset` in the document.
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
        let allowed = match first_forbidden(valid.as_bytes()) {
            Some(0) => return Err(Stop::Forbidden(offset)),
            Some(forbidden) => &valid[..forbidden],
            None => valid,
        };
        self.text.push_str(allowed);
        Ok(allowed.len())
    }

    /// Takes one more byte of a character that arrived in parts.
    fn complete(&mut self, byte: u8, offset: u64) -> Result<(), Stop> {
        let (mut split, bytes) = (self.split, self.split_bytes + 1);
        split[bytes - 1] = byte;
        match std::str::from_utf8(&split[..bytes]) {
            Ok(character) if first_forbidden(character.as_bytes()).is_some() => {
                return Err(Stop::Forbidden(offset));
            }
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

/// Returns the offset of the first character that XML 1.0 does not allow, in bytes that are UTF-8.
pub(super) fn first_forbidden(bytes: &[u8]) -> Option<usize> {
    match (first_control(bytes), first_noncharacter(bytes)) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Returns the offset of the first U+FFFE or U+FFFF (`ef bf be`, `ef bf bf`), the only noncharacters that XML refuses.
/// The search is for the byte `ef`, which few texts have.
fn first_noncharacter(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(0xef, bytes).find(|at| matches!(bytes.get(at + 1..at + 3), Some([0xbf, 0xbe | 0xbf])))
}

fn first_control(bytes: &[u8]) -> Option<usize> {
    let forbidden = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
    // Blocks are folded without an early exit, which the compiler turns into vector instructions.
    let block =
        bytes.chunks(256).position(|block| block.iter().fold(false, |any, byte| any | forbidden(byte)))?;
    bytes[block * 256..].iter().position(forbidden).map(|index| block * 256 + index)
}

#[cfg(test)]
mod tests;
