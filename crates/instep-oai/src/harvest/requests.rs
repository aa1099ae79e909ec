//! Requests to a repository, and the responses that come back.

use std::io::Read as _;

use instep_net::{Client, HttpError, Request, Response};
use resourcesync::{Decoded, Uri};

use super::HarvestError;
use crate::{
    RepositoryUrl,
    response::{NotOai, OaiResponse, ProtocolError},
};

/// The largest response. A part of a list has some megabytes.
const MOST_BYTES: usize = 512 << 20;
/// The most decompressed bytes for each one that arrives, as for full texts: a few bytes could fill the memory (D14).
const MOST_RATIO: usize = 200;
/// The bytes that may swell so much although fewer have arrived, because a short response may repeat itself.
const FIRST_BYTES: usize = 64 << 10;
/// Further attempts when an answer is not OAI-PMH, or is truncated: a maintenance page is temporary.
const RETRIES: u32 = 3;

/// Statuses that come in place of `badResumptionToken`, with a page or a text: Invenio answers 422 after two minutes.
const EXPIRED: [u16; 4] = [400, 404, 410, 422];

/// A repository that answers requests.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) url: RepositoryUrl,
    pub(crate) client: Client,
}

impl Repository {
    /// Sends a request, repeats it after transient failures, and returns the response with the URL of the request. A
    /// response that is truncated each time is returned incomplete.
    ///
    /// # Errors
    /// If no attempt returns OAI-PMH.
    pub(crate) async fn ask(
        &self,
        verb: &str,
        arguments: &[(&str, &str)],
    ) -> Result<(OaiResponse, String), HarvestError> {
        let url = self.url.request(verb, arguments);
        let has_token = arguments.iter().any(|(name, _)| *name == "resumptionToken");
        let mut attempts = self.client.attempts().at_most(RETRIES);
        loop {
            let broken = match self.ask_once(&url, has_token).await {
                Ok(response) if response.is_whole => return Ok((response, url)),
                Ok(response) => Ok(response),
                Err(error) => Err(error),
            };
            let wrong = |what: &str| HttpError::Transfer {
                uri: url.clone(),
                source: Box::new(NotOai(what.to_owned())),
            };
            match broken {
                Ok(response) => {
                    if attempts.again(wrong("the response is truncated")).await.is_err() {
                        return Ok((response, url));
                    }
                }
                Err(error) => attempts.again(error).await?,
            }
        }
    }

    async fn ask_once(&self, url: &str, has_token: bool) -> Result<OaiResponse, HttpError> {
        let uri = Uri::parse(url).map_err(|error| HttpError::Option { what: format!("{url}: {error}") })?;
        let mut response = self.client.send(&Request::document(uri)).await?;
        let status = response.status;
        let text = read(&mut response, url).await?;
        match OaiResponse::parse(&text) {
            Ok(response) => Ok(response),
            Err(_) if has_token && EXPIRED.contains(&status.as_u16()) => {
                let code = "badResumptionToken".to_owned();
                let errors = vec![ProtocolError { code, message: status.to_string() }];
                Ok(OaiResponse { errors, is_whole: true, ..OaiResponse::default() })
            }
            // Some repositories report the errors of the protocol with a status of HTTP; others answer a page.
            Err(_) if !status.is_success() => {
                Err(HttpError::Status { uri: url.to_owned(), status, retry_after: None })
            }
            Err(not_oai) => {
                let coding =
                    response.coding().filter(|coding| !["gzip", "x-gzip"].contains(&coding.as_str()));
                let not_oai = match coding {
                    Some(coding) => NotOai(format!(
                        "the response is in the content coding {coding:?}, which was not accepted: only gzip is"
                    )),
                    None => not_oai,
                };
                Err(HttpError::Transfer { uri: url.to_owned(), source: Box::new(not_oai) })
            }
        }
    }
}

/// Returns the body as text: decompressed, and in the encoding that it declares. Invalid bytes become U+FFFD.
async fn read(response: &mut Response, url: &str) -> Result<String, HttpError> {
    let failed = |what: String| HttpError::Transfer { uri: url.to_owned(), source: Box::new(NotOai(what)) };
    let body = response.body.read_up_to(MOST_BYTES).await?.ok_or_else(|| failed(too_long()))?;
    let bytes = decompressed(&body).map_err(failed)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| marked(error.as_bytes())))
}

/// Returns the decompressed bytes of a body. The error describes the fault.
fn decompressed(body: &[u8]) -> Result<Vec<u8>, String> {
    let most = body.len().max(FIRST_BYTES).saturating_mul(MOST_RATIO).min(MOST_BYTES);
    let mut bytes = Vec::with_capacity(body.len());
    Decoded::new(body)
        .and_then(|decoded| decoded.take(most as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("the response cannot be decompressed: {error}"))?;
    match bytes.len() {
        length if length <= most => Ok(bytes),
        length if length > MOST_BYTES => Err(too_long()),
        _ => Err(format!("the response grows by more than {MOST_RATIO} times when it is decompressed")),
    }
}

fn too_long() -> String {
    format!("the response has more than {} MiB", MOST_BYTES >> 20)
}

fn marked(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push('\u{fffe}');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn d14_d46_o1108_a_response_that_swells_too_much_is_not_unpacked_to_its_end() {
        let compressed = |length: usize| {
            let mut coder = GzEncoder::new(Vec::new(), Compression::best());
            coder.write_all(&vec![b' '; length]).unwrap();
            coder.finish().unwrap()
        };
        let bomb = compressed(64 << 20);
        assert!(bomb.len() < 1 << 20);
        let refused = decompressed(&bomb).unwrap_err();
        assert!(refused.contains("more than 200 times"), "{refused}");
        // A short response may repeat itself, and one that was not compressed stays as it is.
        assert_eq!(decompressed(&compressed(8 << 20)).unwrap().len(), 8 << 20);
        assert_eq!(decompressed(b"<a/>").unwrap(), b"<a/>");
    }

    #[test]
    fn b35_bytes_that_are_no_utf8_become_what_is_repaired_and_reported() {
        assert_eq!(marked(b"a\xffb\xc3\xa9\xc3"), "a\u{fffe}b\u{e9}\u{fffe}");
        let text = format!(
            "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\"><ListRecords><record><header><identifier>a</identifier>\
             </header><metadata><x>{}</x></metadata></record></ListRecords></OAI-PMH>",
            marked(b"caf\xe9")
        );
        let response = OaiResponse::parse(&text).unwrap();
        let metadata = String::from_utf8(response.records[0].metadata.clone().unwrap()).unwrap();
        assert!(metadata.contains("caf\u{fffd}"), "{metadata}");
        assert!(!response.faults.is_empty() && !response.faults[0].is_lost, "{:?}", response.faults);
    }
}
