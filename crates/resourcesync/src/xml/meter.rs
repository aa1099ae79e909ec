//! Counts what passes: bytes, lines, the size of a token.

use std::{
    collections::VecDeque,
    io::{self, BufRead, Read},
};

use super::Limits;
use crate::{error::LimitKind, finding::Position};

/// How much is looked at in one go; a slice would otherwise be scanned for lines as a whole.
const WINDOW: usize = 64 << 10;

/// A reader that knows the line of each byte, and refuses what is too much or no XML character.
#[derive(Debug)]
pub(crate) struct Meter<R> {
    inner: R,
    consumed: u64,
    scanned: u64,
    token_start: u64,
    limits: Limits,
    newlines: VecDeque<u64>,
    lines_before: u64,
    line_start: u64,
    control: Option<u64>,
}

/// Why a [`Meter`] stopped; carried through the XML library inside an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error("more than {1} {0}")]
    Limit(LimitKind, u64),
    #[error("a control character that XML does not allow")]
    Control(u64),
}

impl<R: BufRead> Meter<R> {
    pub(crate) fn new(inner: R, limits: Limits) -> Self {
        Self {
            inner,
            consumed: 0,
            scanned: 0,
            token_start: 0,
            limits,
            newlines: VecDeque::new(),
            lines_before: 0,
            line_start: 0,
            control: None,
        }
    }

    /// A token has been read whole: the next may again have the full size.
    pub(crate) fn start_token(&mut self) {
        self.token_start = self.consumed;
    }

    /// The line and column of an offset. Offsets must not go back.
    pub(crate) fn position(&mut self, offset: u64) -> Position {
        while let Some(newline) = self.newlines.front().copied().filter(|newline| *newline < offset) {
            self.newlines.pop_front();
            self.lines_before += 1;
            self.line_start = newline + 1;
        }
        Position { line: self.lines_before + 1, column: offset.saturating_sub(self.line_start) + 1, offset }
    }

    fn room(&self) -> Result<usize, Stop> {
        let token = self.limits.token_bytes.saturating_sub(self.consumed - self.token_start);
        let all = self.limits.bytes.saturating_sub(self.consumed);
        match (token, all) {
            (_, 0) => Err(Stop::Limit(LimitKind::Bytes, self.limits.bytes)),
            (0, _) => Err(Stop::Limit(LimitKind::TokenBytes, self.limits.token_bytes)),
            (token, all) => Ok(token.min(all).min(WINDOW as u64) as usize),
        }
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

impl<R: BufRead> BufRead for Meter<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let room = match self.room() {
            Ok(room) => room,
            // A document that is exactly as long as the limit ends here in peace.
            Err(stop) => match self.inner.fill_buf()? {
                [] => return Ok(&[]),
                _ => return Err(io::Error::other(stop)),
            },
        };
        let bytes = self.inner.fill_buf()?;
        let bytes = &bytes[..bytes.len().min(room)];
        let end = self.consumed + bytes.len() as u64;
        if end > self.scanned {
            let fresh = &bytes[(self.scanned.max(self.consumed) - self.consumed) as usize..];
            let base = end - fresh.len() as u64;
            self.newlines.extend(memchr::memchr_iter(b'\n', fresh).map(|index| base + index as u64));
            if self.control.is_none() {
                self.control = first_control(fresh).map(|index| base + index as u64);
            }
            self.scanned = end;
        }
        match self.control {
            Some(offset) if offset == self.consumed => Err(io::Error::other(Stop::Control(offset))),
            Some(offset) if offset < end => Ok(&bytes[..(offset - self.consumed) as usize]),
            _ => Ok(bytes),
        }
    }

    fn consume(&mut self, amount: usize) {
        self.consumed += amount as u64;
        self.inner.consume(amount);
    }
}

impl<R: BufRead> Read for Meter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let amount = bytes.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&bytes[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}
