//! The `hash` attribute: digests with their algorithms.

mod algorithm;
mod item;
mod spelling;

use std::{fmt, fmt::Write as _, str::FromStr};

pub use algorithm::Algorithm;
pub use item::{Digest, DigestBytes, DigestError, DigestValue};

/// The digests of one `hash` attribute, in the order written (ATT-12).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digests(Vec<Digest>);

impl Digests {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Reads a white-space list, item by item. The faults of items go to `report`.
    pub fn parse(text: &str, mut report: impl FnMut(DigestError)) -> Self {
        let mut digests = Self::new();
        digests.read(text, &mut report);
        digests
    }

    /// Replaces the digests by those of a list and keeps the buffer.
    pub(crate) fn read(&mut self, text: &str, report: &mut dyn FnMut(DigestError)) {
        self.0.clear();
        for item in spelling::words(text) {
            let held = self.0.len();
            if !spelling::read(item, &mut self.0, report) {
                report(DigestError::NoAlgorithm { item: item.to_owned() });
            } else if let (earlier, [digest]) = self.0.split_at(held)
                && earlier.iter().any(|earlier| earlier.algorithm == digest.algorithm)
            {
                report(DigestError::Repeated { algorithm: digest.algorithm.clone() });
                self.0.truncate(held);
            }
        }
    }

    /// Adds a digest; it replaces one of the same algorithm.
    pub fn insert(&mut self, digest: Digest) {
        self.0.retain(|held| held.algorithm != digest.algorithm);
        self.0.push(digest);
    }

    /// Returns the digest of one algorithm.
    pub fn get(&self, algorithm: &Algorithm) -> Option<&Digest> {
        self.0.iter().find(|digest| digest.algorithm == *algorithm)
    }

    /// Returns the strongest digest that can be verified here.
    pub fn strongest(&self) -> Option<&Digest> {
        self.verifiable().max_by(|a, b| a.algorithm.cmp(&b.algorithm))
    }

    /// Returns the digests that can be verified here.
    pub fn verifiable(&self) -> impl Iterator<Item = &Digest> {
        self.0.iter().filter(|digest| digest.algorithm.digest_bytes().is_some() && digest.bytes().is_some())
    }

    /// Returns `true` if the two agree on the strongest algorithm that both have; `None` if they share none.
    pub fn agrees_with(&self, other: &Self) -> Option<bool> {
        self.verifiable()
            .filter_map(|mine| Some((mine, other.get(&mine.algorithm).filter(|d| d.bytes().is_some())?)))
            .max_by(|a, b| a.0.algorithm.cmp(&b.0.algorithm))
            .map(|(mine, theirs)| mine.value == theirs.value)
    }

    /// Returns all digests, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Digest> {
        self.0.iter()
    }

    /// Returns `true` if there is no digest.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all digests and keeps the buffer.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl FromIterator<Digest> for Digests {
    fn from_iter<T: IntoIterator<Item = Digest>>(digests: T) -> Self {
        let digests = digests.into_iter();
        // Most have one or two, and a list that grows from nothing has room for four.
        let most = digests.size_hint().1.unwrap_or_default().min(Algorithm::KNOWN.len());
        let mut all = Self(Vec::with_capacity(most));
        digests.for_each(|digest| all.insert(digest));
        all
    }
}

impl<'a> IntoIterator for &'a Digests {
    type Item = &'a Digest;
    type IntoIter = std::slice::Iter<'a, Digest>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromStr for Digests {
    type Err = DigestError;

    /// Reads a white-space list strictly; [`Digests::parse`] keeps every valid item.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut fault = None;
        let digests = Self::parse(text, |error| {
            fault.get_or_insert(error);
        });
        fault.map_or(Ok(digests), Err)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    /// Reads one item, `algorithm:digest`, whose algorithm is known here.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digests: Digests = text.parse()?;
        let no_digest = || DigestError::NoAlgorithm { item: text.to_owned() };
        digests.0.into_iter().next().ok_or_else(no_digest)
    }
}

impl fmt::Display for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, digest) in self.iter().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            fmt::Display::fmt(digest, f)?;
        }
        Ok(())
    }
}
