use std::{error::Error as StdError, time::Duration};

use http::StatusCode;

use super::Origin;

/// Why a request brought nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request, or a redirect of it, leads where it must not. Never retried.
    #[error("{uri} is not requested: {reason}")]
    Refused {
        /// Where it leads.
        uri: String,
        /// Why not.
        reason: Refusal,
    },
    /// No connection came about.
    #[error("Cannot connect to {uri}")]
    Connect {
        /// What was asked for.
        uri: String,
        /// Whether another attempt may help; not where the certificate is wrong.
        transient: bool,
        /// Why.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The connection broke, or what came over it is not HTTP.
    #[error("The transfer of {uri} broke off")]
    Transfer {
        /// What was asked for.
        uri: String,
        /// Why.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server was too slow.
    #[error("{uri} was too slow: {phase} took longer than {limit:?}")]
    Timeout {
        /// What was asked for.
        uri: String,
        /// What it was slow at.
        phase: Phase,
        /// The limit.
        limit: Duration,
    },
    /// The server answers, but not with what was asked for.
    #[error("{uri} answers {status}")]
    Status {
        /// What was asked for.
        uri: String,
        /// The status.
        status: StatusCode,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The host failed so often that it is left alone for a while.
    #[error("{host} failed too often and is left alone for {pause:?}")]
    HostDown {
        /// The host and its port.
        host: String,
        /// For how long.
        pause: Duration,
    },
    /// An option cannot be used.
    #[error("{what}")]
    Option {
        /// What, and why.
        what: String,
    },
}

impl HttpError {
    /// Whether another attempt may succeed: connections, resets, timeouts, 5xx, 408 and 429.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { transient, .. } => *transient,
            Self::Transfer { .. } | Self::Timeout { .. } => true,
            Self::Status { status, .. } => is_transient(*status),
            Self::Refused { .. } | Self::HostDown { .. } | Self::Option { .. } => false,
        }
    }

    /// What was asked for, where it is one thing.
    pub(crate) fn uri(&self) -> Option<&str> {
        match self {
            Self::Refused { uri, .. }
            | Self::Connect { uri, .. }
            | Self::Transfer { uri, .. }
            | Self::Timeout { uri, .. }
            | Self::Status { uri, .. } => Some(uri),
            Self::HostDown { .. } | Self::Option { .. } => None,
        }
    }

    /// The status, where the server answered.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

pub(crate) fn is_transient(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
}

/// What a server can be slow at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Connecting.
    Connect,
    /// Sending headers.
    Headers,
    /// Sending 1 KiB a second of the body.
    Body,
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Headers => "the headers",
            Self::Body => "1 KiB a second of the body",
        })
    }
}

/// Why a URI is not requested (invariant 7).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Neither `http` nor `https` (D26).
    #[error("only http and https are fetched, not {scheme:?}")]
    Scheme {
        /// What it is.
        scheme: String,
    },
    /// It has no host.
    #[error("it has no host")]
    NoHost,
    /// It cannot be sent in a request.
    #[error("it cannot be sent: {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
    /// A document speaks for its own host only (D22).
    #[error("Not fetched: {target} is on another host than {speaker}, which lists it")]
    OutOfScope {
        /// The origin of the document that leads there.
        speaker: Origin,
        /// Where it leads.
        target: Origin,
    },
    /// A private or loopback address that the operator did not name (D23).
    #[error("Not fetched: {host} has the private address {address}")]
    PrivateAddress {
        /// The host.
        host: String,
        /// Its address.
        address: std::net::IpAddr,
    },
    /// A redirect from `https` to `http` (D25).
    #[error("a redirect leads from https to http")]
    Downgrade,
    /// Too many redirects (D25).
    #[error("more than {most} redirects")]
    Redirects {
        /// How many are followed.
        most: usize,
    },
    /// A redirect without a usable `Location`.
    #[error("a redirect leads nowhere")]
    NoLocation,
}
