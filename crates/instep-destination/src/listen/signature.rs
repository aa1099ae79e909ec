//! Signatures of deliveries (WebSub §7.1, CN-18, W2). Whose secret counts is decided in `lease.rs`.

use data_encoding::HEXLOWER_PERMISSIVE;
use ring::hmac;

/// Returns `true` if the signature of a delivery is that of its raw body. The hub chooses the algorithm; SHA-1 is
/// accepted only if the operator allows it.
pub(super) fn is_valid(field: Option<&str>, secret: &str, body: &[u8], sha1: bool) -> bool {
    let Some((name, hex)) = field.and_then(|field| field.trim().split_once('=')) else { return false };
    let algorithm = match name.to_ascii_lowercase().as_str() {
        "sha256" => hmac::HMAC_SHA256,
        "sha384" => hmac::HMAC_SHA384,
        "sha512" => hmac::HMAC_SHA512,
        "sha1" if sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        _ => return false,
    };
    let key = hmac::Key::new(algorithm, secret.as_bytes());
    // Compares in constant time.
    HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).is_ok_and(|tag| hmac::verify(&key, body, &tag).is_ok())
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    const SECRET: &str = "Jefe";
    const BODY: &[u8] = b"what do ya want for nothing?";
    // RFC 4231, test case 2, and RFC 2202.
    const SHA256: &str = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    const SHA384: &str = "sha384=af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e\
        8e2240ca5e69e2c78b3239ecfab21649";
    const SHA512: &str = "sha512=164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
        9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737";
    const SHA1: &str = "sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79";

    #[test]
    fn w2_a_delivery_counts_only_with_the_signature_of_its_raw_body() {
        for right in [SHA256, SHA384, SHA512, &SHA256.to_uppercase()] {
            assert!(is_valid(Some(right), SECRET, BODY, false), "{right}");
        }
        assert!(!is_valid(None, SECRET, BODY, false), "without a signature");
        assert!(!is_valid(Some(SHA256), "another", BODY, false), "another secret");
        assert!(!is_valid(Some(SHA256), SECRET, b"what do ya want for nothing? ", false), "another body");
        for wrong in ["", "sha256=", "sha256", "sha256=zz", "sha256=5bdcc", "md5=5bdcc146", &SHA256[..40]] {
            assert!(!is_valid(Some(wrong), SECRET, BODY, true), "{wrong}");
        }
        assert!(
            !is_valid(Some(&SHA256.replace("sha256", "sha512")), SECRET, BODY, false),
            "another algorithm"
        );
    }

    #[test]
    fn w2_sha_1_counts_only_where_the_operator_allows_it() {
        assert!(!is_valid(Some(SHA1), SECRET, BODY, false));
        assert!(is_valid(Some(SHA1), SECRET, BODY, true));
    }
}
