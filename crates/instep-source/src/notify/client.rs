//! Requests to subscribers and to hubs: no redirects, no addresses that are not allowed, no long waits (W1).

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client as HyperClient,
        connect::{HttpConnector, dns::Name},
    },
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{net::lookup_host, time::timeout};
use tower::Service;
use url::{Host, Url};

use super::address::{Cidr, is_allowed};

/// How long one request may take in all.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const ANSWER_BYTES: usize = 1_024;

/// Sends to callbacks at allowed addresses.
#[derive(Clone, Debug)]
pub(super) struct Client {
    inner: HyperClient<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
    guard: Guard,
}

/// Which addresses are allowed; none: all are, because the operator named the URI.
#[derive(Clone, Debug)]
pub(super) struct Guard(Option<Arc<[Cidr]>>);

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

impl Client {
    /// For URIs that strangers name.
    pub(super) fn guarded(allowed: Vec<Cidr>) -> io::Result<Self> {
        Self::new(Guard(Some(allowed.into())))
    }

    /// For URIs that the operator names.
    pub(super) fn trusting() -> io::Result<Self> {
        Self::new(Guard(None))
    }

    fn new(guard: Guard) -> io::Result<Self> {
        let mut http = HttpConnector::new_with_resolver(Resolver(guard.clone()));
        http.enforce_http(false);
        http.set_connect_timeout(Some(PATIENCE));
        let provider = rustls::crypto::ring::default_provider();
        let https = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(provider.clone())
            .or_else(|_| HttpsConnectorBuilder::new().with_provider_and_webpki_roots(provider))
            .map_err(io::Error::other)?
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let mut builder = HyperClient::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(2);
        Ok(Self { inner: builder.build(https), guard })
    }

    /// Whether a callback may be asked at all: by scheme, and by address where it is written in the URI.
    pub(super) fn admits(&self, url: &Url) -> bool {
        let written = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) => None,
            None => return false,
        };
        matches!(url.scheme(), "http" | "https") && written.is_none_or(|address| self.guard.allows(address))
    }

    /// Sends a request; none where no answer came in time.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Option<Answer> {
        if !self.admits(url) {
            return None;
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = url.as_str().parse().ok()?;
        *request.headers_mut() = headers;
        let answer = async {
            let response = self.inner.request(request).await.ok()?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), ANSWER_BYTES).collect().await;
            // An answer that is too long is still an answer.
            Some(Answer { status, body: body.map(|body| body.to_bytes()).unwrap_or_default() })
        };
        timeout(PATIENCE, answer).await.ok().flatten()
    }
}

impl Guard {
    fn allows(&self, address: std::net::IpAddr) -> bool {
        self.0.as_ref().is_none_or(|allowed| is_allowed(address, allowed))
    }
}

/// Resolves names, and forgets addresses that are not allowed: what is connected to is what was judged.
#[derive(Clone, Debug)]
struct Resolver(Guard);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = self.0.clone();
        Box::pin(async move {
            let found = lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| guard.allows(address.ip())).collect();
            if allowed.is_empty() {
                let what = format!("{} is at no allowed address", name.as_str());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
            }
            Ok(allowed.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_addresses_in_any_spelling_are_judged_before_a_connection() {
        let client = Client::guarded(Vec::new()).unwrap();
        for refused in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/latest",
            "ftp://example.com/",
            "file:///etc/passwd",
        ] {
            assert!(!client.admits(&Url::parse(refused).unwrap()), "{refused}");
        }
        assert!(client.admits(&Url::parse("https://example.com/callback").unwrap()));
    }

    #[tokio::test]
    async fn w1_a_name_for_a_private_address_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let client = Client::guarded(Vec::new()).unwrap();
        let url = Url::parse(&url).unwrap();
        assert!(client.send(Method::GET, &url, HeaderMap::new(), Bytes::new()).await.is_none());
        assert!(timeout(Duration::from_millis(50), listener.accept()).await.is_err());
    }
}
