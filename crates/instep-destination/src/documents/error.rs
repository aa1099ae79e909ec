//! The errors of fetching and reading a document.

use std::io;

use http::StatusCode;
use instep_net::{HttpError, Permission};
use resourcesync::ReadError;

/// The reason why a document cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The request failed, or the answer did not arrive.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The run was stopped, or its time is over, before it arrived.
    #[error("{uri} did not arrive before the run ended")]
    Stopped {
        /// The document.
        uri: String,
    },
    /// The document is larger than the limit (D13).
    #[error("{uri} has more than {most} bytes")]
    TooLarge {
        /// The document.
        uri: String,
        /// The limit.
        most: u64,
    },
    /// The limit on the number of documents of a run is reached. The document was not requested (D15).
    #[error("{uri} is not requested: the limit of {most} documents is reached")]
    TooMany {
        /// The document.
        uri: String,
        /// The limit.
        most: u64,
    },
    /// It arrived in a content coding that is not supported.
    #[error("{uri} has the content coding {coding:?}; only gzip is supported")]
    Coding {
        /// The document.
        uri: String,
        /// The coding.
        coding: String,
    },
    /// The URI is that of a file, and the operator did not begin with a file (D26).
    #[error("{uri} is a file; documents from the network must not lead to files")]
    File {
        /// The document.
        uri: String,
    },
    /// The document cannot be kept in a file or read from one.
    #[error("{uri} cannot be stored")]
    Spool {
        /// The document.
        uri: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It arrived and is no collection of activities, or a damaged one.
    #[error("{uri} cannot be read as a collection of activities: {what}")]
    Activities {
        /// The collection or its page.
        uri: String,
        /// The fault.
        what: String,
    },
    /// It arrived, and is no document of ResourceSync, or a damaged one.
    #[error("{uri} cannot be read as a document")]
    Read {
        /// The document.
        uri: String,
        /// The fault and its position.
        #[source]
        source: ReadError,
    },
}

impl DocumentError {
    /// Returns the error of bytes that cannot be read from a file on the disk: the disk is at fault if the operating system
    /// says so, and otherwise the bytes, such as those of a package (O802).
    pub(crate) fn unread(uri: &str, source: io::Error) -> Self {
        let uri = uri.to_owned();
        if source.raw_os_error().is_some() {
            Self::Spool { uri, source }
        } else {
            Self::Read { uri, source: ReadError::Io(source) }
        }
    }

    /// Returns `true` if the operating system cannot store it or read it, as on a full disk.
    pub(crate) fn is_fault_of_disk(&self) -> bool {
        matches!(self, Self::Spool { source, .. } if source.raw_os_error().is_some())
    }

    /// Returns the permission that its request lacked; `None` if no permission would help.
    pub fn lacks(&self) -> Option<Permission> {
        match self {
            Self::Http(error) => error.lacks(),
            _ => None,
        }
    }

    /// Returns `true` if the document arrived and cannot be used, or exceeds a limit.
    pub fn is_invalid(&self) -> bool {
        matches!(
            self,
            Self::TooLarge { .. }
                | Self::TooMany { .. }
                | Self::Coding { .. }
                | Self::Activities { .. }
                | Self::Read { .. }
        )
    }

    /// Returns `true` if the host answers that it is not there.
    pub(crate) fn is_missing(&self) -> bool {
        let Self::Http(error) = self else { return false };
        error.status().is_some_and(|status| [StatusCode::NOT_FOUND, StatusCode::GONE].contains(&status))
    }

    /// Returns `true` if nothing further may be requested: the run should end, or has exceeded a limit.
    pub(crate) fn ends_search(&self) -> bool {
        matches!(self, Self::Stopped { .. } | Self::TooMany { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ENOSPC`.
    const NO_SPACE: i32 = 28;

    #[test]
    fn o802_damaged_bytes_are_no_fault_of_the_disk() {
        let damaged = io::Error::new(io::ErrorKind::InvalidData, "the checksum is wrong");
        let damaged = DocumentError::unread("http://example.com/a.zip", damaged);
        assert!(damaged.is_invalid() && !damaged.is_fault_of_disk(), "{damaged:?}");
        let full = DocumentError::unread("http://example.com/a.zip", io::Error::from_raw_os_error(NO_SPACE));
        assert!(!full.is_invalid() && full.is_fault_of_disk(), "{full:?}");
    }
}
