//! PURE: is it what the Source says it is?

use resourcesync::{Algorithm, Digests, Hasher};

use super::{Expected, Mismatch};
use crate::Verify;

impl Expected {
    /// Computes what has to be compared: the strongest digest offered, or each; SHA-256 where none can be verified, so that the copy
    /// can be audited.
    pub(crate) fn hasher(&self, verify: Verify) -> Hasher {
        let known = || self.digests.verifiable().map(|digest| &digest.algorithm);
        match (verify, self.digests.strongest()) {
            (_, None) => Hasher::new([&Algorithm::Sha256]),
            (Verify::Strongest, Some(strongest)) => Hasher::new([&strongest.algorithm]),
            (Verify::All, Some(_)) => Hasher::new(known()),
        }
    }

    /// Compares the length, where one is stated.
    pub(crate) fn check_length(&self, found: u64) -> Result<(), Mismatch> {
        match self.length {
            Some(expected) if expected != found => Err(Mismatch::Length { found, expected }),
            _ => Ok(()),
        }
    }

    /// Compares each digest that was computed and is offered; whether there was one.
    pub(crate) fn check_digests(&self, found: &Digests) -> Result<bool, Mismatch> {
        let mut verified = false;
        for digest in found {
            let Some(expected) = self.digests.get(&digest.algorithm).filter(|expected| expected.bytes().is_some())
            else {
                continue;
            };
            if digest != expected {
                return Err(Mismatch::Digest { found: digest.clone(), expected: expected.clone() });
            }
            verified = true;
        }
        Ok(verified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(hash: &str) -> Expected {
        Expected { digests: Digests::parse(hash, |_| {}), ..Expected::default() }
    }

    fn check(hash: &str, verify: Verify, body: &[u8]) -> Result<bool, Mismatch> {
        let expected = expected(hash);
        let mut hasher = expected.hasher(verify);
        hasher.update(body);
        expected.check_digests(&hasher.finish())
    }

    const RIGHT_MD5: &str = "md5:9dd4e461268c8034f5c8564e155c67a6";
    const WRONG_MD5: &str = "md5:00000000000000000000000000000000";
    const RIGHT_SHA: &str = "sha-256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

    /// D33: the body is `x`.
    #[test]
    fn d33_the_strongest_known_digest_decides() {
        let both = format!("{WRONG_MD5} {RIGHT_SHA}");
        assert_eq!(check(&both, Verify::Strongest, b"x"), Ok(true));
        assert!(check(&both, Verify::All, b"x").is_err());
        assert_eq!(check(&format!("{RIGHT_MD5} {RIGHT_SHA}"), Verify::All, b"x"), Ok(true));
        assert!(check(RIGHT_SHA, Verify::Strongest, b"y").is_err());
        assert!(check(WRONG_MD5, Verify::Strongest, b"x").is_err());
        assert_eq!(check(&format!("whirlpool:abc {RIGHT_MD5}"), Verify::Strongest, b"x"), Ok(true));
        assert_eq!(check("whirlpool:abc", Verify::All, b"x"), Ok(false));
        assert_eq!(check("md5:short", Verify::All, b"x"), Ok(false));
    }

    #[test]
    fn without_a_digest_sha_256_is_kept_for_audits() {
        let mut hasher = Expected::default().hasher(Verify::Strongest);
        hasher.update(b"x");
        assert_eq!(hasher.finish().to_string(), RIGHT_SHA);
    }
}
