//! Requests to subscribers and to hubs: no redirects, no addresses that are not allowed, no long waits (W1).

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::HeaderMap;
use instep_net::{CachedResolver, Cidr, HttpError, HttpOptions, Request, Scope, SystemResolver};
use resourcesync::Uri;
use tokio::time::timeout;

/// The time that one request may take in all. A subscriber that needs longer is asked again later.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read: a challenge is short.
const ANSWER_BYTES: usize = 1_024;
/// The time for which the addresses of a name are remembered: longer than a verification waits, so that the address
/// that was counted is the one that is asked (C16).
const ADDRESSES_LAST: Duration = Duration::from_secs(60);
/// The most parallel requests. The hub stays below this by its own limits, which take slow subscribers into account.
const TRANSFERS: usize = 1_024;
/// Connections to one host that are kept between requests: one host may have thousands of subscribers.
const IDLE: usize = 64;

/// Sends notifications and requests confirmations, each once.
#[derive(Clone, Debug)]
pub(super) struct CallbackClient(instep_net::Client);

/// The answer to a request.
#[derive(Debug)]
pub(super) struct CallbackAnswer {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

impl CallbackClient {
    /// Returns a client for URIs that strangers name: it connects to public addresses and to the allowed networks.
    pub(super) fn guarded(allowed: Vec<Cidr>) -> Result<Self, HttpError> {
        Self::new(Scope::for_networks(allowed))
    }

    /// Returns a client for a URI that the operator names, with any address.
    pub(super) fn trusting(uri: &Uri) -> Result<Self, HttpError> {
        let scope = Scope::for_source(uri.as_str())
            .map_err(|reason| HttpError::Refused { uri: uri.to_string(), reason })?;
        Self::new(scope)
    }

    fn new(scope: Scope) -> Result<Self, HttpError> {
        let mut options = HttpOptions::new(scope);
        options.timeout = TIMEOUT;
        options.retries = 0;
        options.redirects = 0;
        options.transfers = TRANSFERS;
        options.per_host = TRANSFERS;
        options.idle_per_host = Some(IDLE);
        options.resolver = Arc::new(CachedResolver::new(SystemResolver, ADDRESSES_LAST));
        // A host may have many subscribers: failing ones must not stop deliveries to the others.
        options.adaptive = false;
        instep_net::Client::new(options).map(Self)
    }

    /// Returns `true` if a URI may be requested, as far as this is known before its name is resolved.
    pub(super) fn admits(&self, uri: &Uri) -> bool {
        self.0.options().scope.check_literal(uri.as_str()).is_ok()
    }

    /// Returns the addresses of a URI's host; `None` if there is none, or if one is not allowed.
    pub(super) async fn addresses(&self, uri: &Uri) -> Option<Vec<IpAddr>> {
        self.0.addresses(uri).await.ok()
    }

    /// Sends a request; `None` if no answer arrived in time, or if the address is not allowed.
    pub(super) async fn send(&self, request: Request) -> Option<CallbackAnswer> {
        let answer = async {
            let mut response = match self.0.send_once(&request).await {
                Ok(response) => response,
                // A transient status is an answer like any other here: the hub has its own pauses.
                Err(HttpError::Status { status, .. }) => {
                    return Some(CallbackAnswer { status: status.as_u16(), body: Bytes::new() });
                }
                Err(error) => {
                    tracing::debug!(%error, "no answer from a subscriber or a hub");
                    return None;
                }
            };
            let status = response.status.as_u16();
            // An answer that is too long or breaks off is still an answer.
            let body = response.body.read_up_to(ANSWER_BYTES).await.ok().flatten().unwrap_or_default();
            Some(CallbackAnswer { status, body })
        };
        timeout(TIMEOUT, answer).await.ok().flatten()
    }

    /// Posts a document and returns the status of the answer.
    pub(super) async fn post(&self, uri: Uri, document: Bytes, headers: HeaderMap) -> Option<u16> {
        let mut request = Request::post(uri, document, "application/xml");
        request.headers = headers;
        self.send(request).await.map(|answer| answer.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn w1_a_name_for_a_private_address_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let (guarded, uri) = (CallbackClient::guarded(Vec::new()).unwrap(), Uri::parse(&url).unwrap());
        assert!(guarded.admits(&uri), "a name may be anywhere");
        assert!(guarded.send(Request::get(uri.clone())).await.is_none());
        let open = CallbackClient::guarded(Cidr::LOOPBACK.to_vec()).unwrap();
        let reached = async { open.send(Request::get(uri)).await };
        tokio::select! {
            _ = reached => panic!("nobody answers"),
            connection = listener.accept() => drop(connection.unwrap()),
        }
    }
}
