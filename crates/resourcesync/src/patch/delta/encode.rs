//! Makes deltas.

use super::{
    address::{Addresses, put_number},
    table::{ADD, COPY, COPY_CODES, LONGEST_ADD, MAGIC, SHORTEST_COPY, SOURCE},
};

/// Bytes of a block in the index; shorter matches are not found.
const BLOCK: usize = 8;
/// Binary logarithm of the entries that the index has at most.
const MOST_BITS: u32 = 21;

/// Makes a delta from `source` to `target`. Both must have fewer than 2^31 bytes.
pub(in crate::patch) fn encode(source: &[u8], target: &[u8]) -> Vec<u8> {
    let mut sections = Sections::new(source.len());
    let mut index = BlockIndex::new(source, target);
    let (mut at, mut added_from) = (0, 0);
    // The address in the source that continues the last copy, if nothing was inserted or removed since.
    let mut expected = 0;
    while at + BLOCK <= target.len() {
        let found = index.find(expected, at, added_from);
        index.remember(at);
        let Some(found) = found else {
            (at, expected) = (at + 1, expected + 1);
            continue;
        };
        sections.add(&target[added_from..found.begin]);
        sections.copy(found.address, found.length);
        at = found.begin + found.length;
        added_from = at;
        expected = found.address + found.length;
    }
    sections.add(&target[added_from..]);
    sections.finish(source.len(), target.len())
}

/// A match: bytes of the target that source or target already have.
struct Match {
    begin: usize,
    address: usize,
    length: usize,
}

/// The addresses of blocks by their hash. Addresses after the end of the source are in the target.
struct BlockIndex<'a> {
    source: &'a [u8],
    target: &'a [u8],
    /// Address + 1 of the last block with a hash; 0 if there is none.
    blocks: Vec<u32>,
    shift: u32,
}

impl<'a> BlockIndex<'a> {
    fn new(source: &'a [u8], target: &'a [u8]) -> Self {
        let bits = (source.len() + target.len()).next_power_of_two().ilog2().clamp(8, MOST_BITS);
        let mut index = Self { source, target, blocks: vec![0; 1 << bits], shift: 64 - bits };
        for address in 0..source.len().saturating_sub(BLOCK - 1) {
            index.insert(&source[address..], address);
        }
        index
    }

    fn insert(&mut self, bytes: &[u8], address: usize) {
        if let Some(slot) = slot(bytes, self.shift) {
            self.blocks[slot] = address as u32 + 1;
        }
    }

    /// Adds a block of the target.
    fn remember(&mut self, at: usize) {
        let target = self.target;
        self.insert(&target[at..], self.source.len() + at);
    }

    /// Returns the longer one of two matches: the continuation of the last copy, and that of the index.
    fn find(&self, expected: usize, at: usize, added_from: usize) -> Option<Match> {
        let known = slot(&self.target[at..], self.shift).map(|slot| self.blocks[slot] as usize);
        let known = known.and_then(|address| address.checked_sub(1));
        let candidates = [Some(expected).filter(|it| *it < self.source.len()), known];
        let found =
            candidates.into_iter().flatten().filter_map(|address| self.matched(address, at, added_from));
        found.max_by_key(|found| found.length)
    }

    /// Extends a match forwards, and backwards to the end of the last copy.
    fn matched(&self, address: usize, at: usize, added_from: usize) -> Option<Match> {
        let (from, offset) = match address.checked_sub(self.source.len()) {
            Some(offset) => (self.target, offset),
            None => (self.source, address),
        };
        let equal = |(one, other): &(&u8, &u8)| one == other;
        let forward = from[offset..].iter().zip(&self.target[at..]).take_while(equal).count();
        if forward < BLOCK {
            return None;
        }
        let before = self.target[added_from..at].iter().rev();
        let back = from[..offset].iter().rev().zip(before).take_while(equal).count();
        Some(Match { begin: at - back, address: address - back, length: forward + back })
    }
}

fn slot(bytes: &[u8], shift: u32) -> Option<usize> {
    let block: [u8; BLOCK] = *bytes.first_chunk()?;
    Some((u64::from_le_bytes(block).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize)
}

/// The three sections of a window (RFC 3284 §4.3).
struct Sections {
    data: Vec<u8>,
    instructions: Vec<u8>,
    addresses: Vec<u8>,
    cache: Addresses,
    /// Length of the segment and of the window so far.
    here: usize,
}

impl Sections {
    fn new(segment: usize) -> Self {
        let (data, instructions, addresses) = (Vec::new(), Vec::new(), Vec::new());
        Self { data, instructions, addresses, cache: Addresses::new(), here: segment }
    }

    fn add(&mut self, bytes: &[u8]) {
        match u8::try_from(bytes.len()) {
            Ok(0) => return,
            Ok(length) if length <= LONGEST_ADD => self.instructions.push(ADD + length),
            _ => {
                self.instructions.push(ADD);
                put_number(&mut self.instructions, bytes.len());
            }
        }
        self.data.extend_from_slice(bytes);
        self.here += bytes.len();
    }

    fn copy(&mut self, address: usize, length: usize) {
        let mode = self.cache.write(address, self.here, &mut self.addresses);
        let code = COPY + COPY_CODES * mode;
        match u8::try_from(length) {
            Ok(short) if (SHORTEST_COPY..SHORTEST_COPY + COPY_CODES - 1).contains(&short) => {
                self.instructions.push(code + 1 + short - SHORTEST_COPY);
            }
            _ => {
                self.instructions.push(code);
                put_number(&mut self.instructions, length);
            }
        }
        self.here += length;
    }

    fn finish(self, segment: usize, length: usize) -> Vec<u8> {
        let mut window = Vec::new();
        put_number(&mut window, length);
        window.push(0);
        let sections = [self.data, self.instructions, self.addresses];
        sections.iter().for_each(|section| put_number(&mut window, section.len()));
        window.extend(sections.concat());
        let mut delta = [&MAGIC[..], &[0, SOURCE]].concat();
        put_number(&mut delta, segment);
        put_number(&mut delta, 0);
        put_number(&mut delta, window.len());
        delta.extend(window);
        delta
    }
}
