//! Opens connections. Every address is checked here, immediately before it is used, because a name that was checked
//! earlier may resolve to another address now (D23, D24).

use std::{
    fmt, io,
    net::IpAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use http::{HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tower::Service;

use crate::{
    address,
    dialing::dial,
    error::{HttpError, Refusal},
    options::HttpOptions,
    proxy::{Proxy, ProxyFailure},
    resolver::Resolve,
    scope::Scope,
    stream::Stream,
    tls,
};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Opens TCP connections to addresses within the scope.
#[derive(Clone)]
struct Tcp {
    resolver: Arc<dyn Resolve>,
    scope: Arc<Scope>,
    /// Connections go to the operator's proxy, whose address is not checked.
    to_proxy: bool,
}

impl Tcp {
    async fn connect(self, uri: Uri) -> Result<TokioIo<TcpStream>, BoxError> {
        let (host, port) = place(&uri);
        let addresses =
            if self.to_proxy { self.resolve(host).await? } else { self.addresses(host, port).await? };
        let stream = dial(host, &addresses, port).await?;
        stream.set_nodelay(true)?;
        Ok(TokioIo::new(stream))
    }

    /// Returns the addresses of a host, all of which are allowed.
    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, BoxError> {
        let addresses = self.resolve(host).await?;
        self.scope.check_addresses(host, port, &addresses)?;
        Ok(addresses)
    }

    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        match address::literal(host) {
            Some(address) => Ok(vec![address]),
            None => self.resolver.resolve(host).await,
        }
    }

    /// Checks an address that is written out. A proxy resolves names itself, so that is all that can be checked here.
    fn check_literal(&self, uri: &Uri) -> Result<(), Refusal> {
        let (host, port) = place(uri);
        address::literal(host).map_or(Ok(()), |address| self.scope.check_addresses(host, port, &[address]))
    }
}

/// Returns the host and port of a URI.
fn place(uri: &Uri) -> (&str, u16) {
    let usual = if is_secure(uri) { 443 } else { 80 };
    (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(usual))
}

fn is_secure(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

impl Service<Uri> for Tcp {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// Opens a connection to the operator's proxy itself.
async fn reach(proxy: &Proxy, tcp: Tcp) -> Result<TokioIo<TcpStream>, ProxyFailure> {
    let unreachable = |source| ProxyFailure::Unreachable { proxy: proxy.name(), source };
    tcp.connect(proxy.uri.clone()).await.map_err(unreachable)
}

/// Connects to the origin of a URI, directly or through the operator's proxy, with TLS for `https`.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: Tcp,
    proxy: Option<Proxy>,
    /// The certificates that the operator trusts beside the system's.
    trusted: Arc<[CertificateDer<'static>]>,
    /// Created at the first connection that needs it: reading the system's certificates takes longer than many entire
    /// runs.
    tls: Arc<OnceLock<Arc<rustls::ClientConfig>>>,
}

impl Connector {
    pub(crate) fn new(options: &HttpOptions) -> Result<Self, HttpError> {
        let proxy = options.proxy.as_deref().map(Proxy::parse).transpose()?;
        let tcp = Tcp {
            resolver: Arc::clone(&options.resolver),
            scope: Arc::new(options.scope.clone()),
            to_proxy: proxy.is_some(),
        };
        // Read now and not at the first connection, so that a wrong file is reported at once.
        let trusted = options.ca_file.as_deref().map(tls::trusted_in).transpose()?.unwrap_or_default();
        Ok(Self { tcp, proxy, trusted: trusted.into(), tls: Arc::default() })
    }

    /// Returns a connector for another scope, with the same proxy and certificates.
    pub(crate) fn within(&self, options: &HttpOptions) -> Self {
        let mut connector = self.clone();
        connector.tcp.scope = Arc::new(options.scope.clone());
        connector
    }

    /// Returns the header that each unencrypted request through the proxy must carry.
    pub(crate) fn proxy_authorization(&self) -> Option<&HeaderValue> {
        self.proxy.as_ref()?.authorization.as_ref()
    }

    fn tls(&self) -> Result<Arc<rustls::ClientConfig>, BoxError> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(tls::config(&self.trusted)?);
        Ok(Arc::clone(self.tls.get_or_init(|| config)))
    }

    /// Returns the addresses that a connection to the origin of a URI may go to.
    pub(crate) async fn addresses(&self, uri: &Uri) -> Result<Vec<IpAddr>, BoxError> {
        let (host, port) = place(uri);
        self.tcp.addresses(host, port).await
    }

    /// Opens a connection to the origin of a URI for requests of HTTP. Unencrypted ones go to the proxy itself.
    pub(crate) async fn connect(&self, uri: Uri) -> Result<Stream, BoxError> {
        match &self.proxy {
            Some(proxy) if !is_secure(&uri) => {
                self.tcp.check_literal(&uri)?;
                let stream = MaybeHttpsStream::Http(reach(proxy, self.tcp.clone()).await?);
                Ok(Stream::with_proxy(stream))
            }
            _ => self.connect_to_end(uri, || self.tls()).await,
        }
    }

    /// Opens a connection to the origin of a URI for a protocol that begins as a request of HTTP/1.1. A server that was
    /// offered HTTP/2 chooses that, and a proxy passes such a protocol on only through a tunnel (RFC 6455 §4.1).
    pub(crate) async fn connect_to_upgrade(&self, uri: Uri) -> Result<Stream, BoxError> {
        let tls = || {
            let mut config = Arc::unwrap_or_clone(self.tls()?);
            config.alpn_protocols = vec![tls::HTTP_1.to_vec()];
            Ok::<_, BoxError>(Arc::new(config))
        };
        self.connect_to_end(uri, tls).await
    }

    /// Opens a connection whose other end is the origin of a URI, directly or through a tunnel.
    async fn connect_to_end(
        &self,
        uri: Uri,
        tls: impl Fn() -> Result<Arc<rustls::ClientConfig>, BoxError>,
    ) -> Result<Stream, BoxError> {
        let secure = is_secure(&uri);
        let mut tcp = self.tcp.clone();
        let inner = match &self.proxy {
            None if secure => HttpsConnector::from((tcp, tls()?)).call(uri).await?,
            None => MaybeHttpsStream::Http(tcp.call(uri).await?),
            Some(proxy) => {
                tcp.check_literal(&uri)?;
                let mut tunnel = tower::service_fn(|uri: Uri| {
                    let (proxy, tcp) = (proxy.clone(), tcp.clone());
                    async move {
                        let stream = reach(&proxy, tcp).await?;
                        let (host, port) = place(&uri);
                        Ok::<_, BoxError>(proxy.tunnel(stream, host, port).await?)
                    }
                });
                if secure {
                    HttpsConnector::from((tunnel, tls()?)).call(uri).await?
                } else {
                    MaybeHttpsStream::Http(tunnel.call(uri).await?)
                }
            }
        };
        Ok(Stream::with_origin(inner))
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("proxy", &self.proxy.is_some()).finish_non_exhaustive()
    }
}
