//! A failure of object storage, or of another origin, on its way through a supplier, which reports it as an I/O error.

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

/// The failure of an origin beyond this machine, as the cause of an [`io::Error`] of a [`Supplier`](crate::Supplier).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{origin}: {what}")]
pub struct OriginFailure {
    /// The URL of the origin.
    pub origin: String,
    /// A sentence that describes the fault.
    pub what: String,
    /// The kind of the fault.
    pub fault: OriginFault,
}

/// The kind of a fault of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginFault {
    /// It cannot be reached, or does not answer as an origin of this kind does.
    Unreachable,
    /// It asks for a login.
    Denied,
    /// It refuses the request: an option may be wrong.
    Refused,
}

impl OriginFailure {
    /// Returns the failure that is the cause of an I/O error; `None` if it has another one.
    pub(super) fn within(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}
