//! Digests of payloads as web archives write them: SHA-1 in Base32.

use std::fmt;

use data_encoding::BASE32;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

/// The SHA-1 of a payload. It finds payloads that are alike; it proves nothing about who made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PayloadDigest([u8; 20]);

impl PayloadDigest {
    /// Returns the digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = PayloadHasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Reads `sha1:` and Base32; `None` for any other digest.
    pub fn parse(text: &str) -> Option<Self> {
        let (algorithm, value) = text.split_once(':')?;
        let value = BASE32.decode(value.to_ascii_uppercase().as_bytes()).ok()?;
        value.try_into().ok().map(Self).filter(|_| algorithm.eq_ignore_ascii_case("sha1"))
    }
}

impl fmt::Display for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha1:{}", BASE32.encode(&self.0))
    }
}

/// A digest while the bytes come.
///
/// `ring` has code for each kind of processor: for one without instructions of its own it takes a third of the time that
/// portable code takes.
#[derive(Clone)]
pub struct PayloadHasher(Context);

impl Default for PayloadHasher {
    fn default() -> Self {
        Self(Context::new(&SHA1_FOR_LEGACY_USE_ONLY))
    }
}

impl fmt::Debug for PayloadHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadHasher").finish_non_exhaustive()
    }
}

impl PayloadHasher {
    /// Takes more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes.
    pub fn finish(self) -> PayloadDigest {
        let mut digest = [0; 20];
        // SHA-1 has 20 bytes.
        digest.iter_mut().zip(self.0.finish().as_ref()).for_each(|(to, from)| *to = *from);
        PayloadDigest(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_as_it_is_written() {
        let digest = PayloadDigest::of(b"");
        assert_eq!(digest.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(PayloadDigest::parse(&digest.to_string()), Some(digest));
        assert_eq!(PayloadDigest::parse("sha256:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), None);
        assert_eq!(PayloadDigest::parse("sha1:x"), None);
    }
}
