//! The operator's proxy: its URL, and tunnels through it for `https` (RFC 9110 §9.3.6).

use http::{HeaderValue, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use resourcesync::UriError;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{credentials::basic, error::HttpError};

/// The most bytes of a proxy's answer.
const HEAD_BYTES: usize = 16 << 10;

/// The operator's proxy.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    pub(crate) authorization: Option<HeaderValue>,
}

/// The reason why there is no connection through a proxy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyFailure {
    /// There is no connection to the proxy itself.
    #[error("the proxy {proxy} cannot be reached")]
    Unreachable {
        /// Its host and port.
        proxy: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The proxy opens no tunnel.
    #[error("the proxy {proxy} answers {status}")]
    Refused {
        /// Its host and port.
        proxy: String,
        /// Its answer.
        status: StatusCode,
    },
    /// It does not answer as a proxy does.
    #[error("{proxy} does not answer as a proxy does")]
    NoProxy {
        /// Its host and port.
        proxy: String,
    },
}

impl Proxy {
    pub(crate) fn parse(text: &str) -> Result<Self, HttpError> {
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
        // `@` and `:` of a login are percent-encoded in a URL, and nowhere else.
        let decoded = |text| percent_decode_str(text).decode_utf8_lossy();
        let authorization = (!url.username().is_empty())
            .then(|| basic(&decoded(url.username()), &decoded(url.password().unwrap_or_default())))
            .map(|text| HeaderValue::from_str(&text).map_err(|_| unusable("its user cannot be sent")))
            .transpose()?;
        let authority = format!("http://{}:{}", url.host_str().unwrap_or_default(), url.port().unwrap_or(80));
        let uri = authority.parse().map_err(|_| unusable("it has no host"))?;
        Ok(Self { uri, authorization })
    }

    /// Returns its host and port, for messages.
    pub(crate) fn name(&self) -> String {
        self.uri.authority().map(ToString::to_string).unwrap_or_default()
    }

    /// Opens a tunnel to a host over a connection to the proxy.
    ///
    /// # Errors
    /// If the proxy does not open it.
    pub(crate) async fn tunnel(
        &self,
        stream: TokioIo<TcpStream>,
        host: &str,
        port: u16,
    ) -> Result<TokioIo<TcpStream>, ProxyFailure> {
        let mut stream = stream.into_inner();
        let unreachable =
            |source: std::io::Error| ProxyFailure::Unreachable { proxy: self.name(), source: source.into() };
        let no_proxy = || ProxyFailure::NoProxy { proxy: self.name() };
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n").into_bytes();
        if let Some(authorization) = &self.authorization {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(authorization.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        stream.write_all(&request).await.map_err(unreachable)?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            // A byte at a time: the bytes behind the head belong to the tunnel.
            match stream.read_u8().await {
                Ok(byte) if head.len() < HEAD_BYTES => head.push(byte),
                Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                    return Err(unreachable(error));
                }
                _ => break,
            }
        }
        match status_of(&head).ok_or_else(no_proxy)? {
            status if status.is_success() && head.ends_with(b"\r\n\r\n") => Ok(TokioIo::new(stream)),
            status if status.is_success() => Err(no_proxy()),
            status => Err(ProxyFailure::Refused { proxy: self.name(), status }),
        }
    }
}

/// Returns the status in the first line of an answer; `None` if it is not HTTP.
fn status_of(head: &[u8]) -> Option<StatusCode> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let status = line.strip_prefix(b"HTTP/1.")?.split(|byte| *byte == b' ').nth(1)?;
    StatusCode::from_bytes(status).ok()
}
