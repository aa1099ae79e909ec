//! The digests that a service keeps of an object: asked for with one request, so that nobody has to read the bytes.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use instep_net::{Client, HttpError, Request};
use object_store::{
    path::Path,
    signer::{SignedUrlOptions, Signer},
};
use resourcesync::Uri;

use crate::{BucketError, KeptDigests, ObjectPlace, error::ObjectFault, failure::failed};

/// The time for which a signed request is good.
const VALID: Duration = Duration::from_secs(300);

/// The media type that services give to what they know nothing of.
const UNKNOWN: [&str; 2] = ["binary/octet-stream", "application/octet-stream"];

/// Requests for what a service knows of an object, beyond what the library of object storage tells.
#[derive(Clone, Debug)]
pub(crate) struct DigestRequests {
    pub(crate) signer: Arc<dyn Signer>,
    pub(crate) client: Client,
}

impl DigestRequests {
    /// Asks for the digests of an object.
    ///
    /// # Errors
    /// If the storage fails. A service that keeps none is no failure.
    pub(crate) async fn of(&self, path: &Path, place: &ObjectPlace) -> Result<KeptDigests, BucketError> {
        let mode = (HeaderName::from_static("x-amz-checksum-mode"), HeaderValue::from_static("ENABLED"));
        let signed = SignedUrlOptions::default().with_signed_header(mode.0.clone(), mode.1.clone());
        let url = self.signer.signed_url_opts(Method::HEAD, path, VALID, &signed).await;
        let url = url.map_err(|error| failed(&error, place))?;
        let uri = Uri::parse(url.as_str()).map_err(|error| BucketError::new(error.to_string()))?;
        let headers: HeaderMap = [mode].into_iter().collect();
        let answer = self.client.send_once(&Request::of(Method::HEAD, uri, headers, None)).await;
        let answer = answer.map_err(|error| match &error {
            HttpError::Status { status, .. } if *status == StatusCode::NOT_FOUND => {
                BucketError::of_object(ObjectFault::Missing, format!("there is no object {path}"))
            }
            _ => BucketError::new(error.to_string()),
        })?;
        Ok(digests(&answer.headers))
    }
}

fn digests(headers: &HeaderMap) -> KeptDigests {
    let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // That of an object in parts ends in their number, and is none of its bytes.
    let sha256 = get("x-amz-checksum-sha256").and_then(from_base64).and_then(|bytes| bytes.try_into().ok());
    let is_plain = get("x-amz-server-side-encryption").is_none_or(|how| how == "AES256")
        && get("x-amz-server-side-encryption-customer-algorithm").is_none();
    let etag = get(header::ETAG.as_str()).map(|etag| etag.trim_matches('"'));
    let md5 = etag.filter(|_| is_plain).and_then(from_hex).and_then(|bytes| bytes.try_into().ok());
    let media_type = get(header::CONTENT_TYPE.as_str()).filter(|known| !UNKNOWN.contains(known));
    KeptDigests { sha256, md5, media_type: media_type.map(str::to_owned), etag: etag.map(str::to_owned) }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .then(|| text.as_bytes().chunks(2).map(byte).collect())
        .flatten()
}

/// Reads Base64 of whole bytes; `None` for anything else, such as a digest of digests with the number of parts.
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
