//! Opens connections. Every address is checked here, immediately before it is used, because a name that was checked
//! earlier may resolve to another address now (D23, D24).

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::proxy::Tunnel, rt::TokioIo};
use resourcesync::UriError;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tower::Service;

use crate::{
    address,
    credentials::basic,
    error::{HttpError, Refusal},
    options::HttpOptions,
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
    timeout: Duration,
    /// Connections go to the operator's proxy, whose address is not checked.
    to_proxy: bool,
}

impl Tcp {
    async fn connect(self, uri: Uri) -> Result<TokioIo<TcpStream>, BoxError> {
        let (host, port) = place(&uri);
        let addresses =
            if self.to_proxy { self.resolve(host).await? } else { self.addresses(host, port).await? };
        // The timeout is shared: a host with many dead addresses must not take many timeouts.
        let each = self.timeout / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
        for address in addresses {
            match tokio::time::timeout(each, TcpStream::connect(SocketAddr::new(address, port))).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true)?;
                    return Ok(TokioIo::new(stream));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last.into())
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

    /// A proxy resolves names itself, so only addresses that are written out can be checked here.
    fn check_literal(&self, uri: &Uri) -> Result<(), Refusal> {
        let (host, port) = place(uri);
        address::literal(host).map_or(Ok(()), |address| self.scope.check_addresses(host, port, &[address]))
    }
}

/// Returns the host and port of a URI.
fn place(uri: &Uri) -> (&str, u16) {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(usual))
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

/// The operator's proxy.
#[derive(Clone)]
struct Proxy {
    uri: Uri,
    authorization: Option<HeaderValue>,
}

impl Proxy {
    fn parse(text: &str) -> Result<Self, HttpError> {
        let unusable = |why: &str| HttpError::Option { what: format!("The proxy cannot be used: {why}") };
        if let Err(error @ UriError::NoHost) = resourcesync::Uri::parse(text) {
            return Err(unusable(&error.to_string()));
        }
        const FORM: &str = "its URL must begin with http://";
        let url = url::Url::parse(text).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => unusable(FORM),
            error => unusable(&error.to_string()),
        })?;
        if url.scheme() != "http" {
            return Err(unusable(FORM));
        }
        let authorization = (!url.username().is_empty())
            .then(|| basic(url.username(), url.password().unwrap_or_default()))
            .map(|text| HeaderValue::from_str(&text).map_err(|_| unusable("its user cannot be sent")))
            .transpose()?;
        let authority = format!("http://{}:{}", url.host_str().unwrap_or_default(), url.port().unwrap_or(80));
        let uri = authority.parse().map_err(|_| unusable("it has no host"))?;
        Ok(Self { uri, authorization })
    }
}

impl Connector {
    pub(crate) fn new(options: &HttpOptions) -> Result<Self, HttpError> {
        let proxy = options.proxy.as_deref().map(Proxy::parse).transpose()?;
        let tcp = Tcp {
            resolver: Arc::clone(&options.resolver),
            scope: Arc::new(options.scope.clone()),
            timeout: options.timeout,
            to_proxy: proxy.is_some(),
        };
        // Now, and not at the first connection: a wrong file must not wait for the first https URL.
        let trusted = options.ca_file.as_deref().map(tls::trusted_in).transpose()?.unwrap_or_default();
        Ok(Self { tcp, proxy, trusted: trusted.into(), tls: Arc::default() })
    }

    /// Returns a connector for another scope, with the same proxy and certificates.
    pub(crate) fn within(&self, options: &HttpOptions) -> Self {
        let mut connector = self.clone();
        (connector.tcp.scope, connector.tcp.timeout) = (Arc::new(options.scope.clone()), options.timeout);
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

    /// Opens a connection to the origin of a URI.
    pub(crate) async fn connect(&self, uri: Uri) -> Result<Stream, BoxError> {
        let secure = uri.scheme_str() == Some("https");
        let mut tcp = self.tcp.clone();
        let inner = match &self.proxy {
            None if secure => HttpsConnector::from((tcp, self.tls()?)).call(uri).await?,
            None => MaybeHttpsStream::Http(tcp.call(uri).await?),
            Some(proxy) => {
                tcp.check_literal(&uri)?;
                let mut tunnel = Tunnel::new(proxy.uri.clone(), tcp.clone());
                if let Some(authorization) = &proxy.authorization {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                if secure {
                    HttpsConnector::from((tunnel, self.tls()?)).call(uri).await?
                } else {
                    MaybeHttpsStream::Http(tcp.call(proxy.uri.clone()).await?)
                }
            }
        };
        Ok(Stream::new(inner, self.proxy.is_some() && !secure))
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("proxy", &self.proxy.is_some()).finish_non_exhaustive()
    }
}
