//! The `hash` attribute: digests with their algorithms.

mod item;

use std::{convert::Infallible, fmt, fmt::Write as _, str::FromStr};

/// A digest algorithm of the `hash` attribute (ATT-12); names are read without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// `md5`
    Md5,
    /// `sha-1`
    Sha1,
    /// `sha-256`
    Sha256,
    /// `sha-384`
    Sha384,
    /// `sha-512`
    Sha512,
    /// An algorithm that cannot be computed here; kept as written.
    Other(Box<str>),
}

impl Algorithm {
    /// Every algorithm that can be computed here, weakest first.
    pub const KNOWN: [Self; 5] = [Self::Md5, Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512];

    /// Reads a name, with or without its hyphen: `sha-256`, `SHA256`.
    pub fn parse(text: &str) -> Self {
        match text {
            "md5" => return Self::Md5,
            "sha-1" => return Self::Sha1,
            "sha-256" => return Self::Sha256,
            _ => {}
        }
        let same = |known: &Self| {
            text.eq_ignore_ascii_case(known.as_str())
                || known.as_str().split_once('-').is_some_and(|(head, tail)| {
                    text.len() == head.len() + tail.len()
                        && text.is_ascii()
                        && text[..head.len()].eq_ignore_ascii_case(head)
                        && &text[head.len()..] == tail
                })
        };
        Self::KNOWN.into_iter().find(same).unwrap_or_else(|| Self::Other(text.into()))
    }

    /// Returns the name as a document has it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha-1",
            Self::Sha256 => "sha-256",
            Self::Sha384 => "sha-384",
            Self::Sha512 => "sha-512",
            Self::Other(text) => text,
        }
    }

    /// Returns the length of a digest in bytes; `None` if the algorithm is not known here.
    pub fn digest_bytes(&self) -> Option<usize> {
        Some(match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
            Self::Other(_) => return None,
        })
    }
}

impl FromStr for Algorithm {
    type Err = Infallible;

    /// Reads any text: one that is not known here is kept as written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One item of a `hash` attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    /// The algorithm that the digest was computed with.
    pub algorithm: Algorithm,
    /// The value.
    pub value: DigestValue,
}

/// The value of a digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DigestValue {
    /// Bytes of the length that digests of the algorithm have.
    Bytes(DigestBytes),
    /// A text that is no digest of its algorithm, so that it cannot be verified (ATT-13).
    Opaque(Box<str>),
}

/// The bytes of a digest, held without an allocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DigestBytes {
    length: u8,
    bytes: [u8; 64],
}

impl DigestBytes {
    /// Copies a digest of at most 64 bytes; `None` if there are more.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut value = Self { length: u8::try_from(bytes.len()).ok()?, bytes: [0; 64] };
        value.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(value)
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for DigestBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DigestBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 128];
        for (place, byte) in text.chunks_exact_mut(2).zip(self.as_slice()) {
            place.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        f.write_str(std::str::from_utf8(&text[..2 * usize::from(self.length)]).unwrap_or_default())
    }
}

impl Digest {
    /// Creates a digest of known bytes; `None` if the length is not that of the algorithm.
    pub fn new(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        if algorithm.digest_bytes().is_some_and(|length| length != bytes.len()) {
            return None;
        }
        Some(Self { algorithm, value: DigestValue::Bytes(DigestBytes::new(bytes)?) })
    }

    /// Returns the bytes; `None` if the value is no digest of its algorithm.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.value {
            DigestValue::Bytes(bytes) => Some(bytes.as_slice()),
            DigestValue::Opaque(_) => None,
        }
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

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            DigestValue::Bytes(bytes) => write!(f, "{}:{bytes}", self.algorithm),
            DigestValue::Opaque(text) => write!(f, "{}:{text}", self.algorithm),
        }
    }
}

/// A fault of one item of a `hash` attribute; the other items are kept (ATT-12).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// An item without a colon (ATT-12).
    #[error("{item:?} has no algorithm")]
    NoAlgorithm {
        /// The item.
        item: String,
    },
    /// The value is not hexadecimal (ATT-13).
    #[error("{item:?} is not a hexadecimal digest of its algorithm")]
    NotHexadecimal {
        /// The item.
        item: String,
    },
    /// The value is hexadecimal, but shorter or longer than digests of an algorithm that ATT-13 names are.
    #[error("{item:?} has another length than digests of its algorithm")]
    Length {
        /// The item.
        item: String,
    },
    /// The value is a digest, but written in base64 or as a URN; it is taken.
    #[error("{item:?} is a digest, but not written as algorithm:hexadecimal")]
    Spelled {
        /// The item.
        item: String,
    },
    /// The algorithm occurs a second time; the first item is kept (ATT-14).
    #[error("{algorithm} occurs twice")]
    Repeated {
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// The algorithm is not known here; the item is kept (ATT-12).
    #[error("The algorithm {algorithm} is not known")]
    UnknownAlgorithm {
        /// The algorithm.
        algorithm: Algorithm,
    },
}

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
        for item in item::words(text) {
            let held = self.0.len();
            if !item::read(item, &mut self.0, report) {
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
        let mut all = Self::new();
        digests.into_iter().for_each(|digest| all.insert(digest));
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

    /// Reads a white-space list strictly; [`Digests::parse`] keeps what it can.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut fault = None;
        let digests = Self::parse(text, |error| {
            fault.get_or_insert(error);
        });
        fault.map_or(Ok(digests), Err)
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
