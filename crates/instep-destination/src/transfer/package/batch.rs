//! Batches: packages that a Source makes on request, of resources named in the request.

use bytes::Bytes;
use http::StatusCode;
use instep_net::{Origin, Request, Response};
use resourcesync::Uri;

use super::{Arriving, PackageFetchError, Packages};
use crate::transfer::fetch::{Expected, FetchError};

/// The most bytes of an answer that states why there is no package.
const REASON_BYTES: usize = 4 << 20;

impl Packages {
    /// Requests several resources in one package, as instep's own Source offers it; it can be read while it arrives.
    ///
    /// # Errors
    /// If the Source does not have some of them, a limit of the Source is exceeded, or the package cannot be used.
    pub(crate) async fn batch(
        &self,
        endpoint: &Uri,
        speaker: Option<&Origin>,
        uris: &[Uri],
    ) -> Result<Arriving, PackageFetchError> {
        let texts: Vec<&str> = uris.iter().map(Uri::as_str).collect();
        let content = serde_json::to_vec(&texts).map_err(|_| PackageFetchError::Interrupted)?;
        let mut request = Request::get(endpoint.clone());
        request.speaker = speaker.cloned();
        request.content = Some((Bytes::from(content), "application/json"));
        let response = self.unless_stopped(self.ask_with_retries(&request)).await?;
        self.receive(endpoint.clone(), response, Expected::default())
    }

    async fn ask_with_retries(&self, request: &Request) -> Result<Response, PackageFetchError> {
        let mut attempts = self.fetcher.client().attempts();
        loop {
            match self.ask(request).await {
                Err(PackageFetchError::Fetch(FetchError::Http(error))) => attempts.again(error).await?,
                other => return other,
            }
        }
    }

    async fn ask(&self, request: &Request) -> Result<Response, PackageFetchError> {
        let mut response = self.fetcher.client().send_once(request).await?;
        match response.status {
            StatusCode::PAYLOAD_TOO_LARGE => return Err(PackageFetchError::TooMuch),
            StatusCode::UNPROCESSABLE_ENTITY => {
                let uris = unknown(&mut response).await?;
                return Err(PackageFetchError::Unknown { uris });
            }
            _ => {}
        }
        Ok(response.successful()?)
    }
}

/// Returns the URIs in an answer, which is a list of them or an object with one.
async fn unknown(response: &mut Response) -> Result<Vec<String>, PackageFetchError> {
    let body = response.body.read_up_to(REASON_BYTES).await?.unwrap_or_default();
    let value: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let list = match &value {
        serde_json::Value::Object(fields) => fields.values().find_map(serde_json::Value::as_array),
        other => other.as_array(),
    };
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    Ok(list.map(|list| list.iter().filter_map(text).collect()).unwrap_or_default())
}
