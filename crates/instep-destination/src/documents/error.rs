use std::io;

use resourcesync::ReadError;

use crate::http::HttpError;

/// Why a document cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It does not arrive.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// It is larger than anything that is read (D13).
    #[error("{uri} has more than {most} bytes")]
    TooLarge {
        /// The document.
        uri: String,
        /// The limit.
        most: u64,
    },
    /// So many documents were asked for already that this one is not (D15).
    #[error("{uri} is left out: a Source has at most {most} documents")]
    TooMany {
        /// The document.
        uri: String,
        /// The limit.
        most: u64,
    },
    /// It comes in a content coding that is not read here.
    #[error("{uri} comes in the content coding {coding:?}; gzip is read")]
    Coding {
        /// The document.
        uri: String,
        /// The coding.
        coding: String,
    },
    /// It is a file, and the operator did not begin with a file (D26).
    #[error("{uri} is a file, which no document of the network may lead to")]
    File {
        /// The document.
        uri: String,
    },
    /// It cannot be put aside or read from where it lies.
    #[error("Cannot keep {uri} aside")]
    Spool {
        /// The document.
        uri: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It arrived and is not a document.
    #[error("{uri} cannot be read as a document")]
    Read {
        /// The document.
        uri: String,
        /// What is wrong, and where.
        #[source]
        source: ReadError,
    },
}

impl DocumentError {
    /// Whether it arrived and is wrong, rather than not arriving.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::TooMany { .. } | Self::Coding { .. } | Self::Read { .. })
    }
}
