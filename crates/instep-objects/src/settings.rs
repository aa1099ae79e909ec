//! The settings of a bucket: the environment, the files of AWS tools, our client.

use std::{sync::Arc, time::Duration};

use object_store::{
    ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    signer::Signer,
};

use crate::{
    BucketError, ObjectPlace, connector::ObjectRequests, failure::failed, profile, signed::SignedRequests,
};

/// The time for all attempts of a request.
const RETRY_TIME: Duration = Duration::from_secs(60);

/// Returns the store of a bucket, with the settings of the environment and of the files of AWS tools, and the signed
/// requests: `None` for a service that is used without signatures.
pub(crate) fn connect(
    place: &ObjectPlace,
) -> Result<(Arc<dyn ObjectStore>, Option<SignedRequests>), BucketError> {
    let requests =
        ObjectRequests::new(place.retries()).map_err(|error| BucketError::new(error.to_string()))?;
    let mut builder = AmazonS3Builder::from_env();
    for (setting, value) in profile::settings() {
        builder = builder.with_config(setting, value);
    }
    if let Some(endpoint) = place.endpoint() {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(endpoint) = builder.get_config_value(&AmazonS3ConfigKey::Endpoint) {
        let scheme = scheme(&endpoint).map_err(BucketError::new)?;
        // An explicit `http` is accepted.
        if scheme == "http" {
            builder = builder.with_allow_http(true);
        }
    }
    let is_unsigned = builder.get_config_value(&AmazonS3ConfigKey::SkipSignature).as_deref() == Some("true");
    let retry = RetryConfig {
        max_retries: place.retries() as usize,
        retry_timeout: RETRY_TIME,
        ..RetryConfig::default()
    };
    let client = requests.repeating();
    let store = builder
        .with_bucket_name(place.bucket())
        // Some services do not support requests that remove many objects.
        .with_disable_bulk_delete(true)
        .with_http_connector(requests)
        .with_retry(retry)
        .build()
        .map_err(|error| failed(&error, place))?;
    let store = Arc::new(store);
    let signed = SignedRequests { signer: Arc::clone(&store) as Arc<dyn Signer>, client };
    Ok((store, (!is_unsigned).then_some(signed)))
}

/// Returns the scheme of the URL of a service.
///
/// Errors: it is neither http nor https.
fn scheme(endpoint: &str) -> Result<&str, String> {
    let scheme = endpoint.split_once("://").map_or("", |(scheme, _)| scheme);
    match ["http", "https"].into_iter().find(|known| known.eq_ignore_ascii_case(scheme)) {
        Some(known) => Ok(known),
        None => Err(format!(
            "the service is {endpoint:?}, which is no URL; set AWS_ENDPOINT_URL, or endpoint_url in the files of AWS \
             tools, to one such as https://s3.example.org"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::scheme;

    #[test]
    fn o315_a_service_that_is_no_url_is_named_with_the_setting_that_has_it() {
        assert_eq!(
            (scheme("http://127.0.0.1:9000"), scheme("HTTPS://s3.example.org")),
            (Ok("http"), Ok("https"))
        );
        for wrong in ["s3.example.org", "s3.example.org:9000", "ftp://s3.example.org", ""] {
            let said = scheme(wrong).unwrap_err();
            assert!(said.contains(&format!("{wrong:?}")) && said.contains("AWS_ENDPOINT_URL"), "{said}");
        }
    }
}
