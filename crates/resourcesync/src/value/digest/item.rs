//! A digest, and the faults that one can have.

use std::fmt;

use super::algorithm::Algorithm;

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
    pub(super) length: u8,
    pub(super) bytes: [u8; 64],
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

    /// Appends the digest in hexadecimal digits.
    pub(crate) fn append_to(&self, text: &mut Vec<u8>) {
        let start = text.len();
        text.resize(start + 2 * usize::from(self.length), 0);
        write_hexadecimal(self.as_slice(), &mut text[start..]);
    }
}

/// Writes two digits for each byte.
fn write_hexadecimal(bytes: &[u8], text: &mut [u8]) {
    for (place, byte) in text.chunks_exact_mut(2).zip(bytes) {
        place.copy_from_slice(&HEXADECIMAL[usize::from(*byte)]);
    }
}

/// The two digits of each byte: a list of a million entries has 64 of them in each.
static HEXADECIMAL: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

impl fmt::Debug for DigestBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DigestBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 128];
        let text = &mut text[..2 * usize::from(self.length)];
        write_hexadecimal(self.as_slice(), text);
        f.write_str(std::str::from_utf8(text).unwrap_or_default())
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

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Piece by piece: a list has a million of them, and `write!` costs several times as much.
        fmt::Display::fmt(&self.algorithm, f)?;
        f.write_str(":")?;
        match &self.value {
            DigestValue::Bytes(bytes) => fmt::Display::fmt(bytes, f),
            DigestValue::Opaque(text) => f.write_str(text),
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
