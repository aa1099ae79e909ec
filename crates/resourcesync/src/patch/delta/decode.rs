//! Applies deltas.

use std::ops::Range;

use super::{
    address::{Addresses, Input, malformed},
    table::{Instruction, InstructionKind, MAGIC, SOURCE, TABLE, TARGET},
};
use crate::patch::error::PatchError;

/// Hdr_Indicator: an application header follows. It is not in the RFC; common encoders write it.
const APPLICATION_HEADER: u8 = 4;
/// Win_Indicator: an Adler-32 checksum follows. It is not in the RFC; common encoders write it.
const CHECKSUM: u8 = 4;

/// Returns the version after, of at most `most` bytes. Time and memory are bounded by the sizes of both versions and
/// the delta.
pub(in crate::patch) fn decode(source: &[u8], delta: &[u8], most: usize) -> Result<Vec<u8>, PatchError> {
    let mut input = Input(delta);
    if input.take(MAGIC.len())? != MAGIC {
        return Err(malformed("no VCDIFF"));
    }
    match input.byte()? {
        0 => {}
        APPLICATION_HEADER => {
            let length = input.number()?;
            input.take(length)?;
        }
        _ => return Err(malformed("a secondary compressor or another code table")),
    }
    let mut target = Vec::new();
    while !input.0.is_empty() {
        DeltaWindow::open(source, &mut input, &mut target, most)?.decode()?;
    }
    Ok(target)
}

/// The segment of a window.
enum Segment<'a> {
    Source(&'a [u8]),
    Target(Range<usize>),
}

impl Segment<'_> {
    fn length(&self) -> usize {
        match self {
            Self::Source(bytes) => bytes.len(),
            Self::Target(range) => range.len(),
        }
    }
}

/// A window while it is decoded.
struct DeltaWindow<'a, 't> {
    segment: Segment<'a>,
    target: &'t mut Vec<u8>,
    begin: usize,
    end: usize,
    data: Input<'a>,
    instructions: Input<'a>,
    addresses: Input<'a>,
    cache: Addresses,
}

impl<'a, 't> DeltaWindow<'a, 't> {
    fn open(
        source: &'a [u8],
        input: &mut Input<'a>,
        target: &'t mut Vec<u8>,
        most: usize,
    ) -> Result<Self, PatchError> {
        let indicator = input.byte()?;
        let segment = match indicator & !CHECKSUM {
            0 => Segment::Source(&[]),
            SOURCE => Segment::Source(&source[range(input, source.len())?]),
            TARGET => Segment::Target(range(input, target.len())?),
            _ => return Err(malformed("an indicator of a window that means nothing")),
        };
        let length = input.number()?;
        let mut window = Input(input.take(length)?);
        let (begin, length) = (target.len(), window.number()?);
        let end = begin.checked_add(length).filter(|end| *end <= most);
        let end = end.ok_or_else(|| PatchError::Unfit(format!("its result has more than {most} bytes")))?;
        if window.byte()? != 0 {
            return Err(malformed("compressed sections"));
        }
        let lengths = [window.number()?, window.number()?, window.number()?];
        if indicator & CHECKSUM != 0 {
            window.take(4)?;
        }
        let [data, instructions, addresses] = lengths;
        let sections = [window.take(data)?, window.take(instructions)?, window.take(addresses)?];
        let [data, instructions, addresses] = sections.map(Input);
        let cache = Addresses::new();
        if window.0.is_empty() {
            Ok(Self { segment, target, begin, end, data, instructions, addresses, cache })
        } else {
            Err(malformed("bytes after the last section"))
        }
    }

    fn decode(mut self) -> Result<(), PatchError> {
        while !self.instructions.0.is_empty() {
            let code = self.instructions.byte()?;
            for instruction in TABLE[usize::from(code)] {
                self.execute(instruction)?;
            }
        }
        if self.target.len() == self.end && self.data.0.is_empty() && self.addresses.0.is_empty() {
            Ok(())
        } else {
            Err(malformed("a window of another length than stated"))
        }
    }

    fn execute(&mut self, instruction: Instruction) -> Result<(), PatchError> {
        let size = match (instruction.kind, instruction.size) {
            (InstructionKind::Noop, _) => return Ok(()),
            (_, 0) => self.instructions.number()?,
            (_, size) => usize::from(size),
        };
        if size > self.end - self.target.len() {
            return Err(malformed("a window that is longer than stated"));
        }
        match instruction.kind {
            InstructionKind::Noop => {}
            InstructionKind::Add => self.target.extend_from_slice(self.data.take(size)?),
            InstructionKind::Run => self.target.resize(self.target.len() + size, self.data.byte()?),
            InstructionKind::Copy(mode) => {
                let here = self.segment.length() + self.target.len() - self.begin;
                let address = self.cache.read(mode, here, &mut self.addresses)?;
                self.copy(address, size);
            }
        }
        Ok(())
    }

    /// Copies from the segment, and after its end from the window's own output, that of this copy included (§3).
    fn copy(&mut self, address: usize, size: usize) {
        let in_segment = self.segment.length().saturating_sub(address).min(size);
        if in_segment > 0 {
            match &self.segment {
                Segment::Source(bytes) => {
                    self.target.extend_from_slice(&bytes[address..address + in_segment]);
                }
                Segment::Target(range) => {
                    let from = range.start + address;
                    self.target.extend_from_within(from..from + in_segment);
                }
            }
        }
        let from = self.begin + (address + in_segment).saturating_sub(self.segment.length());
        let mut left = size - in_segment;
        while left > 0 {
            // The copied bytes may overlap the output: each round doubles the bytes that are available.
            let length = left.min(self.target.len() - from);
            self.target.extend_from_within(from..from + length);
            left -= length;
        }
    }
}

/// Reads size and position of a segment within `length` bytes.
fn range(input: &mut Input<'_>, length: usize) -> Result<Range<usize>, PatchError> {
    let (size, position) = (input.number()?, input.number()?);
    match position.checked_add(size) {
        Some(end) if end <= length => Ok(position..end),
        _ => Err(PatchError::Unfit("the version before is shorter".to_owned())),
    }
}
