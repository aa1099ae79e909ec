//! Random damage to input, repeatable from a seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// A source of random damage: bytes that change, parts that vanish or repeat, words of the format at wrong places.
pub(crate) struct Havoc {
    first: u64,
    state: u64,
    words: &'static [&'static str],
}

impl Havoc {
    /// Starts from `INSTEP_FUZZ_SEED`, else from the time of day.
    pub(crate) fn start(words: &'static [&'static str]) -> Self {
        let given = std::env::var("INSTEP_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
        let time = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
        let first = given.unwrap_or_else(time).max(1);
        println!("INSTEP_FUZZ_SEED={first}");
        Self { first, state: first, words }
    }

    /// Returns the seed that repeats this run.
    pub(crate) fn first_seed(&self) -> u64 {
        self.first
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // Marsaglia's xorshift64: good enough to choose places, and the same on every machine.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % end.max(1) as u64) as usize
    }

    /// Damages the input at one to four places.
    pub(crate) fn damage(&mut self, input: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(input.len() + 1);
            match self.below(7) {
                0 => input.truncate(at),
                1 if at < input.len() => input[at] = self.below(256) as u8,
                2 if at < input.len() => input[at] ^= 1 << self.below(8),
                3 => {
                    let end = (at + self.below(40)).min(input.len());
                    input.drain(at..end);
                }
                4 => {
                    let end = (at + self.below(200)).min(input.len());
                    let part = input[at..end].to_vec();
                    let place = self.below(input.len() + 1);
                    input.splice(place..place, part);
                }
                _ => {
                    let word = self.words[self.below(self.words.len())];
                    let end = (at + self.below(2) * word.len()).min(input.len());
                    input.splice(at..end, word.bytes());
                }
            }
        }
    }
}
