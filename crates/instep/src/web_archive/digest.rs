//! The digests that records state for their blocks and payloads, and their comparison with the bytes.

use instep_warc::{PayloadDigest, PayloadHasher};
use resourcesync::{Algorithm, Hasher};

/// A digest in one of the two algorithms that writers of archives use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StatedDigest {
    /// SHA-1, read from Base32 or hexadecimal digits.
    Sha1(PayloadDigest),
    /// SHA-256, in hexadecimal digits of lower case.
    Sha256(String),
}

/// The comparison of bytes with a stated digest, while the bytes are read.
pub(super) struct DigestCheck {
    stated: StatedDigest,
    found: FoundDigest,
}

enum FoundDigest {
    Sha1(PayloadHasher),
    Sha256(Hasher),
}

impl StatedDigest {
    /// Reads a digest; `None` if it is in another algorithm or notation.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (algorithm, value) = text.trim().split_once(':')?;
        let is_sha256 = ["sha256", "sha-256"].iter().any(|name| algorithm.eq_ignore_ascii_case(name));
        let is_hexadecimal = value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_sha256 && is_hexadecimal {
            Some(Self::Sha256(value.to_ascii_lowercase()))
        } else {
            PayloadDigest::parse(text).map(Self::Sha1)
        }
    }
}

impl DigestCheck {
    /// Begins to compare bytes with a digest.
    pub(super) fn begin(stated: StatedDigest) -> Self {
        let found = match stated {
            StatedDigest::Sha1(_) => FoundDigest::Sha1(PayloadHasher::default()),
            StatedDigest::Sha256(_) => FoundDigest::Sha256(Hasher::new(&[Algorithm::Sha256])),
        };
        Self { stated, found }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match &mut self.found {
            FoundDigest::Sha1(hasher) => hasher.update(bytes),
            FoundDigest::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// Returns the difference between the digest of the bytes and the stated one, as a text; `None` if they are equal.
    pub(super) fn finish(self) -> Option<String> {
        let found = match self.found {
            FoundDigest::Sha1(hasher) => StatedDigest::Sha1(hasher.finish()),
            FoundDigest::Sha256(hasher) => StatedDigest::Sha256(hexadecimal(&hasher.finish().to_string())),
        };
        (found != self.stated).then(|| format!("the digest {found} instead of {}", self.stated))
    }
}

impl std::fmt::Display for StatedDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sha1(digest) => digest.fmt(f),
            Self::Sha256(value) => write!(f, "sha256:{value}"),
        }
    }
}

/// Returns the digits of a digest that is written with its algorithm, as in `sha-256:...`.
pub(super) fn hexadecimal(digest: &str) -> String {
    digest.rsplit(':').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o235_digests_of_both_algorithms_are_compared() {
        for (stated, is_right) in [
            ("sha1:VLAQ3KAYEPJ5RHKBPUDDIF7CPWGAXJE4", None),
            ("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Some(true)),
            ("SHA-256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", Some(true)),
            ("sha256:ca7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Some(false)),
            ("sha1:a9993e364706816aba3e25717850c26c9cd0d89d", Some(true)),
            ("sha1:b9993e364706816aba3e25717850c26c9cd0d89d", Some(false)),
        ] {
            let stated = StatedDigest::parse(stated).unwrap();
            let mut check = DigestCheck::begin(stated);
            check.update(b"ab");
            check.update(b"c");
            let difference = check.finish();
            if let Some(is_right) = is_right {
                assert_eq!(difference.is_none(), is_right, "{difference:?}");
            }
        }
        assert_eq!(StatedDigest::parse("md5:900150983cd24fb0d6963f7d28e17f72"), None);
        assert_eq!(StatedDigest::parse("sha256:short"), None);
    }
}
