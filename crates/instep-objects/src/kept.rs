//! The digests that a service stores with an object: one request reads them, so the bytes need not be read.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use object_store::path::Path;

use crate::{
    BucketError, KeptDigests, ObjectPlace,
    error::ObjectFault,
    failure::answered,
    object::md5_of_etag,
    signed::{SignedRequest, SignedRequests},
};

/// The media type that services use if they do not know the type.
const UNKNOWN: [&str; 2] = ["binary/octet-stream", "application/octet-stream"];

impl SignedRequests {
    /// Requests the digests of an object.
    ///
    /// # Errors
    /// If there is no such object, or the storage fails. A service without digests is not a failure.
    pub(crate) async fn digests(&self, path: &Path, place: &ObjectPlace) -> Result<KeptDigests, BucketError> {
        let mode = (HeaderName::from_static("x-amz-checksum-mode"), HeaderValue::from_static("ENABLED"));
        let request = SignedRequest { method: Method::HEAD, path, query: Vec::new(), header: Some(mode) };
        let answer = self.send(&request, place).await?;
        match answer.status {
            status if status.is_success() => Ok(digests(&answer.headers)),
            StatusCode::NOT_FOUND => {
                let what = format!("there is no object {path} in the bucket {}", place.bucket());
                Err(BucketError::of_object(ObjectFault::Missing, what))
            }
            // The answer to a HEAD has no further details.
            status => Err(answered(status, "", place)),
        }
    }
}

/// Returns `Content-Type` unless it is meaningless.
pub(crate) fn media_type(text: &str) -> Option<String> {
    Some(text).filter(|known| !UNKNOWN.contains(known)).map(str::to_owned)
}

fn digests(headers: &HeaderMap) -> KeptDigests {
    let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // The digest of an object in parts ends in their number, and is not a digest of its bytes.
    let sha256 = get("x-amz-checksum-sha256").and_then(from_base64).and_then(|bytes| bytes.try_into().ok());
    let is_plain = get("x-amz-server-side-encryption").is_none_or(|how| how == "AES256")
        && get("x-amz-server-side-encryption-customer-algorithm").is_none();
    let etag = get(header::ETAG.as_str()).map(|etag| etag.trim_matches('"'));
    let md5 = etag.filter(|_| is_plain).and_then(md5_of_etag);
    let media_type = get(header::CONTENT_TYPE.as_str()).and_then(media_type);
    KeptDigests { sha256, md5, media_type, etag: etag.map(str::to_owned) }
}

/// Reads Base64 of complete bytes; `None` for anything else, such as a digest of digests with the number of parts.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=');
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for digit in digits.bytes() {
        bits = bits << 6 | u32::try_from(DIGITS.iter().position(|known| *known == digit)?).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&'static str, &'static str)]) -> KeptDigests {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        digests(&headers.iter().map(header).collect())
    }

    const ETAG: (&str, &str) = ("etag", "\"900150983cd24fb0d6963f7d28e17f72\"");

    #[test]
    fn digests_are_taken_only_where_they_are_those_of_the_bytes() {
        let abc = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
        let both = of(&[ETAG, ("x-amz-checksum-sha256", abc), ("content-type", "text/plain")]);
        assert_eq!(both.sha256.unwrap()[..3], [0xba, 0x78, 0x16]);
        assert_eq!(both.md5.unwrap()[..3], [0x90, 0x01, 0x50]);
        assert_eq!(both.media_type.as_deref(), Some("text/plain"));
        let of_parts = of(&[
            ("etag", "\"900150983cd24fb0d6963f7d28e17f72-3\""),
            ("x-amz-checksum-sha256", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=-3"),
            ("content-type", "binary/octet-stream"),
        ]);
        assert_eq!((of_parts.sha256, of_parts.md5, of_parts.media_type), (None, None, None));
        for how in ["aws:kms", "aws:kms:dsse"] {
            assert_eq!(of(&[ETAG, ("x-amz-server-side-encryption", how)]).md5, None, "{how}");
        }
        assert!(of(&[ETAG, ("x-amz-server-side-encryption", "AES256")]).md5.is_some());
        assert_eq!(of(&[ETAG, ("x-amz-server-side-encryption-customer-algorithm", "AES256")]).md5, None);
        assert_eq!(of(&[("etag", "\"1-2\"")]).md5, None);
    }
}
