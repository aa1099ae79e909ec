//! A failure of object storage, or of another service that resources come from, on its way through a supplier, which reports it as an I/O error.

use std::{fmt::Display, io};

/// A failure of the object storage that has resources.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {what}")]
pub(crate) struct StorageFailure {
    pub(super) place: String,
    pub(super) what: String,
}

impl StorageFailure {
    /// Returns the failure of storage at a place as an I/O error.
    pub(crate) fn at(place: &impl Display, error: impl Display) -> io::Error {
        io::Error::other(Self { place: place.to_string(), what: error.to_string() })
    }

    /// Returns the failure that is the cause of an I/O error; `None` if it has another one.
    pub(super) fn within(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// The failure of a service that resources come from, as the cause of an [`io::Error`] of a [`Supplier`](crate::Supplier).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{url}: {what}")]
pub struct UpstreamFailure {
    /// The URL of the service.
    pub url: String,
    /// A sentence that describes the fault.
    pub what: String,
    /// The kind of the fault.
    pub fault: UpstreamFault,
}

/// The kind of a fault of a service that resources come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamFault {
    /// It cannot be reached, or does not answer as a service of its kind does.
    Unreachable,
    /// It asks for a login, which the operator can give.
    Denied,
    /// It refuses the request: an option may be wrong.
    Refused,
}

impl UpstreamFailure {
    /// Returns the failure that is the cause of an I/O error; `None` if it has another one.
    pub(super) fn within(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}
