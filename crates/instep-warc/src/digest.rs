//! Digests of payloads as web archives write them: SHA-1 in Base32.

use std::fmt;

use data_encoding::{BASE32, HEXLOWER_PERMISSIVE};
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use sha1::{Digest as _, Sha1};

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

    /// Reads `sha1:` and Base32 or, as some programs write it, 40 hexadecimal digits; `None` for any other digest.
    pub fn parse(text: &str) -> Option<Self> {
        let (algorithm, value) = text.split_once(':')?;
        let value = match value.len() {
            40 => HEXLOWER_PERMISSIVE.decode(value.as_bytes()).ok()?,
            _ => BASE32.decode(value.to_ascii_uppercase().as_bytes()).ok()?,
        };
        value.try_into().ok().map(Self).filter(|_| algorithm.eq_ignore_ascii_case("sha1"))
    }
}

impl fmt::Display for PayloadDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 20 bytes are 32 letters, without padding.
        let mut letters = [0; 32];
        BASE32.encode_mut(&self.0, &mut letters);
        f.write_str("sha1:")?;
        f.write_str(std::str::from_utf8(&letters).unwrap_or_default())
    }
}

/// Computes the digest of bytes that arrive piece by piece.
#[derive(Clone)]
pub struct PayloadHasher(Sha1Computation);

/// `sha1` uses the instructions for SHA-1 of processors that have them, which `ring` never does; on other processors
/// `ring` takes a third of the time.
#[derive(Clone)]
enum Sha1Computation {
    Instructions(Sha1),
    Portable(Context),
}

impl Default for PayloadHasher {
    fn default() -> Self {
        Self(if has_instructions() {
            Sha1Computation::Instructions(Sha1::new())
        } else {
            Sha1Computation::Portable(Context::new(&SHA1_FOR_LEGACY_USE_ONLY))
        })
    }
}

/// Returns `true` if the processor has instructions for SHA-1.
#[cfg(target_arch = "x86_64")]
fn has_instructions() -> bool {
    std::arch::is_x86_feature_detected!("sha")
}

#[cfg(target_arch = "aarch64")]
fn has_instructions() -> bool {
    std::arch::is_aarch64_feature_detected!("sha2")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn has_instructions() -> bool {
    false
}

impl fmt::Debug for PayloadHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadHasher").finish_non_exhaustive()
    }
}

impl PayloadHasher {
    /// Takes more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Sha1Computation::Instructions(sha1) => sha1.update(bytes),
            Sha1Computation::Portable(context) => context.update(bytes),
        }
    }

    /// Returns the digest of all bytes.
    pub fn finish(self) -> PayloadDigest {
        match self.0 {
            Sha1Computation::Instructions(sha1) => PayloadDigest(sha1.finalize().into()),
            Sha1Computation::Portable(context) => {
                let mut digest = [0; 20];
                // SHA-1 has 20 bytes.
                digest.iter_mut().zip(context.finish().as_ref()).for_each(|(to, from)| *to = *from);
                PayloadDigest(digest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_computations_have_the_same_result() {
        let bytes = b"payload".repeat(100);
        let digests = [
            Sha1Computation::Instructions(Sha1::new()),
            Sha1Computation::Portable(Context::new(&SHA1_FOR_LEGACY_USE_ONLY)),
        ]
        .map(|computation| {
            let mut hasher = PayloadHasher(computation);
            bytes.chunks(33).for_each(|chunk| hasher.update(chunk));
            hasher.finish()
        });
        assert_eq!(digests[0], digests[1]);
        assert_eq!(digests[0], PayloadDigest::of(&bytes));
    }

    #[test]
    fn a_digest_reads_back_as_it_is_written() {
        let digest = PayloadDigest::of(b"");
        assert_eq!(digest.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(PayloadDigest::parse(&digest.to_string()), Some(digest));
        assert_eq!(PayloadDigest::parse("sha256:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), None);
        assert_eq!(PayloadDigest::parse("sha1:x"), None);
        let hex = "SHA1:da39a3ee5e6b4b0d3255bfef95601890afd80709";
        assert_eq!(PayloadDigest::parse(hex), Some(digest), "o86: as hexadecimal digits too");
    }
}
