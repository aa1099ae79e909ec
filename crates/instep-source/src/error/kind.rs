//! The kinds of errors that a caller decides by.

use std::io;

use rustix::io::Errno;

use super::Error;

/// The kind of an error, for a caller that decides how to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operator has to change an option or an input.
    Usage,
    /// Another process is at work; try again later.
    Locked,
    /// Disk, file system or database.
    Storage,
    /// The state is that of a newer version.
    NewerState,
    /// A guard refused the publication; the operator decides.
    Refused,
    /// The origin of the resources cannot be reached.
    Unreachable,
    /// The request cannot be served as it is.
    Request,
    /// Anything else.
    Failed,
}

impl Error {
    /// Returns the kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Options { .. } | Self::Manifest { .. } => ErrorKind::Usage,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Write { .. }
            | Self::Catalogue { .. }
            | Self::Delivery { .. }
            | Self::ObjectStorage { .. } => ErrorKind::Storage,
            Self::Origin { is_unreachable: true, .. } => ErrorKind::Unreachable,
            Self::NewerCatalogue { .. } => ErrorKind::NewerState,
            Self::DeletionsRefused { .. }
            | Self::SetMoved { .. }
            | Self::UnreadableRefused { .. }
            | Self::BaseUrlChanged { .. }
            | Self::DocumentsInTheWay { .. } => ErrorKind::Refused,
            Self::UnknownResources { .. } | Self::TooMuch { .. } | Self::TooEarly { .. } => {
                ErrorKind::Request
            }
            Self::Document { source: resourcesync::WriteError::Io(_), .. } => ErrorKind::Storage,
            Self::Package { source, .. } if is_full(source.as_ref()) => ErrorKind::Storage,
            Self::Read { source, .. } if has_failed(source) => ErrorKind::Storage,
            Self::Stopped
            | Self::Origin { .. }
            | Self::Read { .. }
            | Self::Document { .. }
            | Self::Package { .. }
            | Self::Listen { .. }
            | Self::PublisherFailed
            | Self::Watch { .. } => ErrorKind::Failed,
        }
    }
}

/// Returns `true` if the disk or the system failed, rather than that a file is not there or not ours to read.
fn has_failed(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::IO | Errno::ROFS | Errno::MFILE | Errno::NFILE))
}

/// Returns `true` if one of the causes is a disk, a quota or a limit on files without space.
fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| matches!(cause.kind(), FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull))
}
