//! Signatures of deliveries (WebSub §7.1).

use data_encoding::HEXLOWER;
use http::HeaderValue;
use ring::hmac;

/// The digest of signatures. The hub chooses it (WebSub §7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Signature {
    /// SHA-1: for subscribers that support nothing else.
    Sha1,
    /// SHA-256.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Signature {
    /// Returns the `X-Hub-Signature` of a raw body.
    pub(super) fn field(self, secret: &str, body: &[u8]) -> HeaderValue {
        let (name, algorithm) = match self {
            Self::Sha1 => ("sha1", hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
            Self::Sha256 => ("sha256", hmac::HMAC_SHA256),
            Self::Sha384 => ("sha384", hmac::HMAC_SHA384),
            Self::Sha512 => ("sha512", hmac::HMAC_SHA512),
        };
        let tag = hmac::sign(&hmac::Key::new(algorithm, secret.as_bytes()), body);
        let hex = HEXLOWER.encode(tag.as_ref());
        HeaderValue::from_str(&format!("{name}={hex}")).unwrap_or(HeaderValue::from_static(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_the_signature_is_that_of_the_raw_body() {
        // RFC 4231 and RFC 2202, test case 2.
        for (signature, expected) in [
            (Signature::Sha256, "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            (Signature::Sha1, "sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        ] {
            assert_eq!(signature.field("Jefe", b"what do ya want for nothing?"), expected);
        }
    }
}
