//! The operator's proxy: its URL, and tunnels through it for `https` (RFC 9110 §9.3.6).

use bytes::Bytes;
use http::{
    HeaderValue, Request, StatusCode, Uri,
    header::{HOST, PROXY_AUTHORIZATION},
};
use http_body_util::Empty;
use hyper::{client::conn::http1, upgrade};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use resourcesync::UriError;
use tokio::net::TcpStream;

use crate::{credentials::basic, error::HttpError};

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
    /// Its answer is not one of HTTP, or it speaks before its client does.
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
        let failed = |error: hyper::Error| {
            if error.is_parse() || error.is_incomplete_message() {
                ProxyFailure::NoProxy { proxy: self.name() }
            } else {
                ProxyFailure::Unreachable { proxy: self.name(), source: error.into() }
            }
        };
        let (mut sender, connection) = http1::handshake(stream).await.map_err(failed)?;
        // It ends when the tunnel is open, or with the answer that refuses it.
        tokio::spawn(connection.with_upgrades());
        let answer = sender.send_request(self.opening(host, port)?).await.map_err(failed)?;
        if !answer.status().is_success() {
            return Err(ProxyFailure::Refused { proxy: self.name(), status: answer.status() });
        }
        let opened = upgrade::on(answer).await.map_err(failed)?;
        match opened.downcast::<TokioIo<TcpStream>>() {
            // A server of TLS does not speak first.
            Ok(parts) if parts.read_buf.is_empty() => Ok(parts.io),
            _ => Err(ProxyFailure::NoProxy { proxy: self.name() }),
        }
    }

    /// Returns the request for a tunnel.
    fn opening(&self, host: &str, port: u16) -> Result<Request<Empty<Bytes>>, ProxyFailure> {
        let place = format!("{host}:{port}");
        let mut request = Request::connect(&place).header(HOST, &place);
        if let Some(authorization) = &self.authorization {
            request = request.header(PROXY_AUTHORIZATION, authorization);
        }
        let unreachable =
            |source: http::Error| ProxyFailure::Unreachable { proxy: self.name(), source: source.into() };
        request.body(Empty::new()).map_err(unreachable)
    }
}
