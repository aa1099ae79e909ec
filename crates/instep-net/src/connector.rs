//! Connections: every address is checked where it is used (D23, D24).

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::proxy::Tunnel, rt::TokioIo};
use tokio::net::TcpStream;
use tower::Service;

use super::{HttpError, HttpOptions, Refusal, Scope, address, credentials, stream::Stream, tls};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Names to addresses.
pub trait Resolve: Send + Sync {
    /// Every address of a name, in the order to try.
    fn resolve(&self, host: &str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        let host = host.to_owned();
        Box::pin(async move {
            Ok(tokio::net::lookup_host((host.as_str(), 0)).await?.map(|address| address.ip()).collect())
        })
    }
}

/// Opens TCP connections to addresses that are in scope.
#[derive(Clone)]
pub(crate) struct Tcp {
    resolver: Arc<dyn Resolve>,
    scope: Arc<Scope>,
    timeout: Duration,
    /// The proxy is the operator's word; what lies behind it is the proxy's to resolve.
    trusted: bool,
}

impl Tcp {
    async fn connect(self, uri: Uri) -> Result<TokioIo<TcpStream>, BoxError> {
        let (host, port) = place(&uri);
        let addresses = match address::written(host) {
            Some(address) => vec![address],
            None => self.resolver.resolve(host).await?,
        };
        if !self.trusted && !self.scope.may_be_private(host, port) {
            check(host, &addresses)?;
        }
        let patience = self.timeout / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
        for address in addresses {
            match tokio::time::timeout(patience, TcpStream::connect(SocketAddr::new(address, port))).await {
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
}

impl Tcp {
    /// Behind a proxy the proxy resolves names; an address that is written out can still be refused.
    fn check_written(&self, uri: &Uri) -> Result<(), Refusal> {
        let (host, port) = place(uri);
        match address::written(host) {
            Some(address) if !self.scope.may_be_private(host, port) => check(host, &[address]),
            _ => Ok(()),
        }
    }
}

/// Host and port of a URI.
fn place(uri: &Uri) -> (&str, u16) {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(usual))
}

/// One private address among public ones is enough: who answers so wants to be tried.
fn check(host: &str, addresses: &[IpAddr]) -> Result<(), Refusal> {
    match addresses.iter().find(|address| !address::is_public(**address)) {
        Some(address) => Err(Refusal::PrivateAddress { host: host.to_owned(), address: *address }),
        None => Ok(()),
    }
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

/// The way to an origin: straight, or through the operator's proxy; with TLS where the URI says so.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: Tcp,
    proxy: Option<Proxy>,
    ca_file: Option<PathBuf>,
    /// Made when it is needed first: reading the system's certificates takes longer than many a whole run.
    tls: Arc<OnceLock<Arc<rustls::ClientConfig>>>,
}

/// The operator's proxy.
#[derive(Clone)]
pub(crate) struct Proxy {
    uri: Uri,
    authorization: Option<HeaderValue>,
}

impl Proxy {
    fn parse(text: &str) -> Result<Self, HttpError> {
        let unusable = |why: &str| HttpError::Option { what: format!("The proxy cannot be used: {why}") };
        let url = url::Url::parse(text).map_err(|error| unusable(&error.to_string()))?;
        if url.scheme() != "http" {
            return Err(unusable("its URL must begin with http://"));
        }
        let authorization = (!url.username().is_empty())
            .then(|| credentials::basic(url.username(), url.password().unwrap_or_default()))
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
            trusted: proxy.is_some(),
        };
        Ok(Self { tcp, proxy, ca_file: options.ca_file.clone(), tls: Arc::default() })
    }

    /// What a request to the proxy itself must carry.
    pub(crate) fn proxy_authorization(&self) -> Option<&HeaderValue> {
        self.proxy.as_ref()?.authorization.as_ref()
    }

    fn tls(&self) -> Result<Arc<rustls::ClientConfig>, BoxError> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(tls::config(self.ca_file.as_deref())?);
        Ok(Arc::clone(self.tls.get_or_init(|| config)))
    }

    /// A connection to the origin of a URI.
    pub(crate) async fn connect(&self, uri: Uri) -> Result<Stream, BoxError> {
        let secure = uri.scheme_str() == Some("https");
        let mut tcp = self.tcp.clone();
        let inner = match &self.proxy {
            None if secure => HttpsConnector::from((tcp, self.tls()?)).call(uri).await?,
            None => MaybeHttpsStream::Http(tcp.call(uri).await?),
            Some(proxy) => {
                tcp.check_written(&uri)?;
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
        Ok(Stream { inner, proxied: self.proxy.is_some() && !secure })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("proxy", &self.proxy.is_some()).finish_non_exhaustive()
    }
}
