//! Requests that the object storage library cannot send, or whose answers it does not return completely: the library
//! signs them, and our own client sends them.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use instep_net::{Client, HttpError, Request, Response};
use object_store::{
    path::Path,
    signer::{SignedUrlOptions, Signer},
};
use resourcesync::Uri;

use crate::{
    BucketError, ObjectPlace,
    failure::{failed, may_pass},
};

/// The time for which a signed request is good.
const VALID: Duration = Duration::from_secs(300);

/// Signs requests for a bucket and sends them.
#[derive(Clone, Debug)]
pub(crate) struct SignedRequests {
    pub(crate) signer: Arc<dyn Signer>,
    pub(crate) client: Client,
}

/// A request for an object, or with [`Path::ROOT`] for the bucket.
#[derive(Debug)]
pub(crate) struct SignedRequest<'r> {
    pub(crate) method: Method,
    pub(crate) path: &'r Path,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) header: Option<(HeaderName, HeaderValue)>,
}

impl SignedRequests {
    /// Sends a request, and repeats it after transient failures. Returns the first answer that another attempt would
    /// not improve, with any status.
    ///
    /// # Errors
    /// If the service does not answer, or there are no credentials.
    pub(crate) async fn send(
        &self,
        request: &SignedRequest<'_>,
        place: &ObjectPlace,
    ) -> Result<Response, BucketError> {
        let mut attempts = self.client.attempts();
        loop {
            let signed = self.sign(request, place).await?;
            match self.client.send_once(&signed).await {
                Ok(response) => return Ok(response),
                Err(error) => attempts.again(unsigned(error)).await.map_err(said)?,
            }
        }
    }

    async fn sign(&self, request: &SignedRequest<'_>, place: &ObjectPlace) -> Result<Request, BucketError> {
        let query = request.query.iter().map(|(name, value)| (*name, value.as_str()));
        let mut options = SignedUrlOptions::default().with_query(query);
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = &request.header {
            options = options.with_signed_header(name.clone(), value.clone());
            headers.insert(name.clone(), value.clone());
        }
        let url = self.signer.signed_url_opts(request.method.clone(), request.path, VALID, &options).await;
        let url = url.map_err(|error| failed(&error, place))?;
        let uri = Uri::parse(url.as_str()).map_err(|error| BucketError::new(error.to_string()))?;
        Ok(Request::of(request.method.clone(), uri, headers, None))
    }
}

/// Returns the error for a request that failed for good.
pub(crate) fn said(error: HttpError) -> BucketError {
    let may_pass = may_pass(&error);
    BucketError::of_service(unsigned(error).to_string(), may_pass)
}

/// Removes the query from the URI of an error, because a reader of the log could use the signature while it is valid.
pub(crate) fn unsigned(mut error: HttpError) -> HttpError {
    if let HttpError::Refused { uri, .. }
    | HttpError::Connect { uri, .. }
    | HttpError::Transfer { uri, .. }
    | HttpError::Timeout { uri, .. }
    | HttpError::Status { uri, .. } = &mut error
    {
        uri.truncate(uri.find('?').unwrap_or(uri.len()));
    }
    error
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use instep_net::HttpError;

    use super::said;

    #[test]
    fn no_message_has_a_signature() {
        let uri = "http://h/library/a?X-Amz-Credential=7391&X-Amz-Signature=7391".to_owned();
        let error = HttpError::Status { uri, status: StatusCode::BAD_GATEWAY, retry_after: None };
        let said = said(error).to_string();
        assert!(said.contains("http://h/library/a answers 502") && !said.contains("7391"), "{said}");
    }

    #[test]
    fn o163_a_service_that_is_away_is_told_apart_from_one_that_refuses() {
        let of = |status| {
            let uri = "http://h/library/a".to_owned();
            said(HttpError::Status { uri, status, retry_after: None }).may_pass()
        };
        assert!(of(StatusCode::BAD_GATEWAY) && of(StatusCode::TOO_MANY_REQUESTS));
        assert!(!of(StatusCode::FORBIDDEN) && !of(StatusCode::NOT_FOUND));
        let (uri, source) = ("http://h/library/a".to_owned(), "reset".into());
        assert!(said(HttpError::Transfer { uri, source }).may_pass());
    }
}
