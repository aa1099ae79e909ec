//! Errors of requests, and which of them another attempt may overcome.

use std::{error::Error as StdError, fmt, net::IpAddr, time::Duration};

use http::StatusCode;

use crate::origin::{Origin, OriginError};

/// The reason why a request brought no usable response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request, or a redirect of it, leads out of the scope. It is never retried.
    #[error("{uri} is not requested: {reason}")]
    Refused {
        /// The URI that would have been requested.
        uri: String,
        /// The reason.
        reason: Refusal,
    },
    /// No connection could be opened.
    #[error("Cannot connect to {uri}")]
    Connect {
        /// The requested URI.
        uri: String,
        /// `true` if another attempt may help; `false` if for instance the certificate is wrong.
        transient: bool,
        /// The cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The connection broke, or its bytes are not HTTP.
    #[error("The transfer of {uri} broke off")]
    Transfer {
        /// The requested URI.
        uri: String,
        /// The cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server was too slow.
    #[error("{uri} was too slow: {phase} took longer than {limit:?}")]
    Timeout {
        /// The requested URI.
        uri: String,
        /// The phase that took too long.
        phase: RequestPhase,
        /// The limit.
        limit: Duration,
    },
    /// The server answered with a status that does not provide the requested data.
    #[error("{uri} answers {status}")]
    Status {
        /// The requested URI.
        uri: String,
        /// The status.
        status: StatusCode,
        /// The pause that `Retry-After` requests; `None` without one.
        retry_after: Option<Duration>,
    },
    /// The host failed so often that it gets no requests for a while.
    #[error("{host} failed too often and gets no request for {pause:?}")]
    HostDown {
        /// The host and its port.
        host: String,
        /// The time until it gets requests again.
        pause: Duration,
    },
    /// An option cannot be used.
    #[error("{what}")]
    Option {
        /// The option and the fault.
        what: String,
    },
}

impl HttpError {
    /// Returns `true` if another attempt may succeed: after failed connections, resets, timeouts, 5xx, 408 and 429.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { transient, .. } => *transient,
            Self::Transfer { .. } | Self::Timeout { .. } => true,
            Self::Status { status, .. } => is_transient(*status),
            Self::Refused { .. } | Self::HostDown { .. } | Self::Option { .. } => false,
        }
    }

    /// Returns the requested URI; `None` if the error is not about one.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Refused { uri, .. }
            | Self::Connect { uri, .. }
            | Self::Transfer { uri, .. }
            | Self::Timeout { uri, .. }
            | Self::Status { uri, .. } => Some(uri),
            Self::HostDown { .. } | Self::Option { .. } => None,
        }
    }

    /// Returns the permission that the request lacked; `None` if no permission would help.
    pub fn lacks(&self) -> Option<Permission> {
        match self {
            Self::Refused { reason, .. } => reason.lacks(),
            Self::Status { status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, .. } => {
                Some(Permission::Login)
            }
            Self::Status { status: StatusCode::PROXY_AUTHENTICATION_REQUIRED, .. } => {
                Some(Permission::ProxyLogin)
            }
            _ => None,
        }
    }

    /// Returns the status; `None` if the server did not answer.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Returns `true` for a status that may be another one at the next attempt. 501 never is.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
}

/// The part of an exchange that a server was too slow at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestPhase {
    /// Connecting.
    Connect,
    /// Sending the headers.
    Headers,
    /// Sending the body at 1 KiB a second or more.
    Body,
}

impl fmt::Display for RequestPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Headers => "the headers",
            Self::Body => "1 KiB a second of the body",
        })
    }
}

/// The reason why a URI is not requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It cannot be requested over HTTP (D26).
    #[error(transparent)]
    Uri(#[from] OriginError),
    /// It is on another host than the document that leads there (D22).
    #[error("{target} is on another host than {speaker}, which lists it")]
    OutOfScope {
        /// The origin of the document that leads there.
        speaker: Origin,
        /// The origin that it leads to.
        target: Origin,
    },
    /// Its host has an address that is not public, and the operator did not name it (D23).
    #[error("{host} has the private address {address} ({purpose})")]
    PrivateAddress {
        /// The host.
        host: String,
        /// The address.
        address: IpAddr,
        /// The purpose of the range that contains the address.
        purpose: &'static str,
    },
    /// A redirect leads from `https` to `http` (D25).
    #[error("a redirect leads from https to http")]
    Downgrade,
    /// There are too many redirects (D25).
    #[error("more than {most} redirects")]
    Redirects {
        /// The number of redirects that are followed.
        most: usize,
    },
    /// A redirect has no usable `Location`.
    #[error("a redirect has no usable Location")]
    NoLocation,
}

impl Refusal {
    /// Returns [`Permission::Origin`] if a scope could allow the URI; `None` if no scope would.
    pub fn lacks(&self) -> Option<Permission> {
        matches!(self, Self::OutOfScope { .. } | Self::PrivateAddress { .. }).then_some(Permission::Origin)
    }
}

/// A permission that a request lacked, and that the operator can give. They are ordered: the first is needed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Permission {
    /// A login for the server, which answered 401 or 403.
    Login,
    /// A login for the proxy, which answered 407.
    ProxyLogin,
    /// Requests to an origin that is on another host than the document that leads there, or has a private address.
    Origin,
}
