//! The comparison of a resource with the metadata that the Source states for it. PURE: the bytes were counted and
//! digested before.

use resourcesync::{Algorithm, Digests};

use super::{Expected, Mismatch};
use crate::Verify;

/// The length and digests of one form of a resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) length: u64,
    pub(crate) digests: &'a Digests,
}

/// The form of a resource: as it arrived, or without the coding that it arrived in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedForm {
    Plain,
    Decoded,
}

impl Expected {
    /// Returns the algorithms to compute: that of the strongest digest offered, or of each; SHA-256 if none can be
    /// verified, so that the copy can be audited.
    pub(crate) fn algorithms(&self, verify: Verify) -> Vec<Algorithm> {
        match (verify, self.digests.strongest()) {
            (_, None) => vec![Algorithm::Sha256],
            (Verify::Strongest, Some(strongest)) => vec![strongest.algorithm.clone()],
            (Verify::All, Some(_)) => {
                self.digests.verifiable().map(|digest| digest.algorithm.clone()).collect()
            }
        }
    }

    /// Returns `true` if there is anything to compare.
    pub(crate) fn is_known(&self) -> bool {
        self.length.is_some() || self.digests.strongest().is_some()
    }

    /// Returns the form of a resource that matches the listed one, and `true` if a digest confirms it. `plain` are
    /// the received bytes; `decoded` are the same without a content coding that was not requested. The length may be
    /// that of either form, or of the coded one if the entry names a coding (AMB-B38); the digest of the decoded form
    /// is tried first (AMB-B39).
    pub(crate) fn choose(
        &self,
        plain: Seen<'_>,
        decoded: Option<Seen<'_>>,
    ) -> Result<(ListedForm, bool), Mismatch> {
        self.check_lengths(plain.length, decoded.map(|seen| seen.length))?;
        let Some(decoded) = decoded else {
            return Ok((ListedForm::Plain, self.check_digests(plain.digests)?));
        };
        if self.digests.strongest().is_none() {
            // Both forms may have the listed length. The decoded one is chosen then, because no coding was requested
            // (O50).
            let has_coded_length = self.length == Some(plain.length) && plain.length != decoded.length;
            let listed_coded = self.encoding().is_some() || has_coded_length;
            return Ok((if listed_coded { ListedForm::Plain } else { ListedForm::Decoded }, false));
        }
        match self.check_digests(decoded.digests) {
            Ok(verified) => Ok((ListedForm::Decoded, verified)),
            Err(mismatch) => match self.check_digests(plain.digests) {
                Ok(verified) => Ok((ListedForm::Plain, verified)),
                Err(_) => Err(mismatch),
            },
        }
    }

    fn check_lengths(&self, plain: u64, decoded: Option<u64>) -> Result<(), Mismatch> {
        match self.length {
            Some(length) if self.encoding().is_none() && decoded == Some(length) => Ok(()),
            // The entry states the length of a coded form, and the plain one arrived.
            Some(_) if self.encoding().is_some() && decoded.is_none() => Ok(()),
            _ => self.check_length(plain),
        }
    }

    /// Returns the number of bytes that may arrive; `None` if that is not known beforehand.
    pub(crate) fn most_bytes(&self) -> Option<u64> {
        self.length.filter(|_| self.encoding().is_none())
    }

    /// Compares the length if one is stated.
    pub(crate) fn check_length(&self, found: u64) -> Result<(), Mismatch> {
        match self.length {
            Some(expected) if expected != found => Err(Mismatch::Length { found, expected }),
            _ => Ok(()),
        }
    }

    /// Compares each computed digest that the Source states too. Returns `true` if there is one.
    fn check_digests(&self, found: &Digests) -> Result<bool, Mismatch> {
        let mut verified = false;
        for digest in found {
            let Some(expected) =
                self.digests.get(&digest.algorithm).filter(|expected| expected.bytes().is_some())
            else {
                continue;
            };
            if digest != expected {
                let (found, expected) = (digest.clone().into(), expected.clone().into());
                return Err(Mismatch::Digest { found, expected });
            }
            verified = true;
        }
        Ok(verified)
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::Hasher;

    use super::*;

    fn expected(hash: &str) -> Expected {
        Expected { digests: Digests::parse(hash, |_| {}), ..Expected::default() }
    }

    fn check(hash: &str, verify: Verify, body: &[u8]) -> Result<bool, Mismatch> {
        let expected = expected(hash);
        let mut hasher = Hasher::new(&expected.algorithms(verify));
        hasher.update(body);
        expected.check_digests(&hasher.finish())
    }

    const RIGHT_MD5: &str = "md5:9dd4e461268c8034f5c8564e155c67a6";
    const WRONG_MD5: &str = "md5:00000000000000000000000000000000";
    const RIGHT_SHA: &str = "sha-256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

    /// The body is `x` (D33).
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
        let mut hasher = Hasher::new(&Expected::default().algorithms(Verify::Strongest));
        hasher.update(b"x");
        assert_eq!(hasher.finish().to_string(), RIGHT_SHA);
    }

    /// The body `x` arrived as gzip although no coding was requested (D34, AMB-B38, AMB-B39).
    #[test]
    fn d34_a_coding_that_came_unasked_is_never_mixed_with_the_other_form() {
        let digests = |body: &[u8]| {
            let mut hasher = Hasher::new([&Algorithm::Sha256]);
            hasher.update(body);
            hasher.finish()
        };
        let (plain, decoded) = (digests(b"coded"), digests(b"x"));
        let of_coded = plain.to_string();
        let choose = |hash: &str, length: Option<u64>, encoding: Option<&str>| {
            let expected = Expected { length, encoding: encoding.map(Into::into), ..expected(hash) };
            let form = |digests, length| Seen { length, digests };
            expected.choose(form(&plain, 5), Some(form(&decoded, 1))).ok()
        };
        for (hash, length, encoding, chosen) in [
            (RIGHT_SHA, Some(1), None, Some((ListedForm::Decoded, true))),
            (RIGHT_SHA, Some(5), None, Some((ListedForm::Decoded, true))),
            (RIGHT_SHA, Some(5), Some("gzip"), Some((ListedForm::Decoded, true))),
            (RIGHT_SHA, Some(1), Some("gzip"), None),
            (&of_coded, Some(5), Some("gzip"), Some((ListedForm::Plain, true))),
            (&of_coded, Some(5), None, Some((ListedForm::Plain, true))),
            (WRONG_MD5, None, None, Some((ListedForm::Decoded, false))),
            ("", Some(1), None, Some((ListedForm::Decoded, false))),
            ("", Some(5), None, Some((ListedForm::Plain, false))),
            ("", Some(5), Some("gzip"), Some((ListedForm::Plain, false))),
            ("", None, None, Some((ListedForm::Decoded, false))),
            ("", Some(7), None, None),
        ] {
            assert_eq!(choose(hash, length, encoding), chosen, "{hash} {length:?} {encoding:?}");
        }
    }

    #[test]
    fn o50_of_two_forms_of_the_listed_length_the_one_without_the_coding_is_taken() {
        let none = Digests::new();
        let form = || Seen { length: 45, digests: &none };
        for (encoding, chosen) in [(None, ListedForm::Decoded), (Some("gzip"), ListedForm::Plain)] {
            let expected = Expected { length: Some(45), encoding: encoding.map(Into::into), ..expected("") };
            assert_eq!(expected.choose(form(), Some(form())).ok(), Some((chosen, false)));
        }
    }
}
