//! The algorithms of digests.

use std::{convert::Infallible, fmt, str::FromStr};

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
