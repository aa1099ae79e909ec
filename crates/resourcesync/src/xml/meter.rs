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
    /// Up to here each byte was looked at and may pass.
    scanned: u64,
    token_start: u64,
    limits: Limits,
    newlines: VecDeque<u64>,
    lines_before: u64,
    line_start: u64,
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

    /// Looks at the next bytes, once for all the times they are asked for. Out of line, so that asking again costs little.
    #[cold]
    #[inline(never)]
    fn scan(&mut self) -> io::Result<()> {
        let room = match self.room() {
            Ok(room) => room,
            // A document that is exactly as long as the limit ends here in peace.
            Err(_) if self.inner.fill_buf()?.is_empty() => return Ok(()),
            Err(stop) => return Err(io::Error::other(stop)),
        };
        let bytes = self.inner.fill_buf()?;
        let bytes = &bytes[..bytes.len().min(room)];
        let allowed = match first_control(bytes) {
            Some(0) => return Err(io::Error::other(Stop::Control(self.consumed))),
            Some(control) => &bytes[..control],
            None => bytes,
        };
        self.newlines.extend(memchr::memchr_iter(b'\n', allowed).map(|index| self.consumed + index as u64));
        self.scanned = self.consumed + allowed.len() as u64;
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

impl<R: BufRead> BufRead for Meter<R> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.scanned {
            self.scan()?;
        }
        let bytes = self.inner.fill_buf()?;
        let allowed = (self.scanned - self.consumed) as usize;
        Ok(&bytes[..bytes.len().min(allowed)])
    }

    #[inline]
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
