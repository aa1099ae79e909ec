//! The errors of a Destination.

mod beside;
mod convert;
mod guard;
mod kind;
mod subjects;

pub(crate) use beside::BesideUrl;
pub use guard::Guard;
pub(crate) use instep_store::error_chain;
pub use kind::ErrorKind;

use std::{
    error::Error as StdError,
    path::{Path, PathBuf},
};

use instep_net::{HttpError, Permission, ProtocolFailure};

use beside::WithoutUrl;

/// The reason why a run ended without doing its work. A problem with one resource is a [`crate::Problem`], not an
/// error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operator requested something that cannot be done.
    #[error("{what}")]
    Usage {
        /// The fault, and what to do instead.
        what: String,
    },
    /// The Source has several sets of resources, and the operator must choose one.
    #[error("The Source has several sets of resources: {}", sets.join(", "))]
    SeveralSets {
        /// The URIs of their Capability Lists.
        sets: Vec<String>,
    },
    /// The Source does not answer, or not with a document.
    #[error("Cannot reach {url}")]
    Unreachable {
        /// The URL that was requested.
        url: String,
        /// The cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// No document at the URL, or at the places tried for it, leads to a capability.
    #[error("No ResourceSync capability found at {url}: {}", reasons.join("; "))]
    NotResourceSync {
        /// The operator's URL.
        url: String,
        /// The reason for each place that was tried, with its URL.
        reasons: Vec<String>,
        /// The permission that requests to these places lacked, the one that is needed first; `None` if no permission
        /// would help.
        lacks: Option<Permission>,
    },
    /// There is no copy in a folder.
    #[error("{} holds no copy", dir.display())]
    NoCopy {
        /// The folder.
        dir: PathBuf,
    },
    /// A document of the Source cannot be used.
    #[error("{url} is not usable: {what}")]
    InvalidDocument {
        /// The document.
        url: String,
        /// The fault, and its place in the document.
        what: String,
    },
    /// A guard refuses.
    #[error("Refused: {what}")]
    Refused {
        /// The guard.
        guard: Guard,
        /// The finding, and the way to allow it.
        what: String,
    },
    /// Another run has the copy.
    #[error("{} is locked by {holder}", dir.display())]
    Locked {
        /// The copy.
        dir: PathBuf,
        /// The run that holds it.
        holder: String,
    },
    /// The copy cannot be read or written.
    #[error("Cannot {action} {}", path.display())]
    Storage {
        /// The operation that failed, for example `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The object storage of the copy failed.
    #[error("Cannot {action} {place}: {what}")]
    ObjectStorage {
        /// The operation that failed, for example `write`.
        action: &'static str,
        /// The bucket, its prefix and the object.
        place: String,
        /// The reason, and what to do.
        what: String,
        /// `true` if the service cannot be reached or cannot serve: it may be over in a moment.
        may_pass: bool,
    },
    /// The state cannot be read or written.
    #[error("Cannot use the state in {}", path.display())]
    State {
        /// The state's file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
        /// `true` if the database that has the state cannot be reached or cannot serve: it may be over in a moment.
        may_pass: bool,
    },
    /// The state was written by a newer version.
    #[error("The state in {} has version {found}; this program knows versions up to {known}", path.display())]
    NewerState {
        /// The state's file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The caller ended the work, or its time limit was reached.
    #[error("The run ended before it was complete")]
    Interrupted,
    /// A task of the program panicked or was cancelled, so that its part of the work is missing.
    #[error("A part of the program ended unexpectedly; please report it")]
    Task {
        /// The way in which it ended.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The program broke a rule of its own. The run ends before it records anything that depends on the rule.
    #[error("The program failed in itself, please report it: {what}")]
    Invariant {
        /// The rule, and the difference from it.
        what: String,
    },
}

impl Error {
    /// Returns `true` if the object storage of the copy, or the database that has its state, could not be reached or could not
    /// serve: it may be over in a moment, and shows nothing about the Source.
    pub fn is_storage_away(&self) -> bool {
        matches!(self, Self::ObjectStorage { may_pass: true, .. } | Self::State { may_pass: true, .. })
    }

    /// Returns the error for a Source that has nothing to copy: its documents are at fault, not the operator (C38).
    pub(crate) fn nothing_offered(url: &str, what: &str) -> Self {
        Self::InvalidDocument {
            url: url.to_owned(),
            what: format!("it {what}: there is nothing to synchronize"),
        }
    }

    /// Returns `true` if a document is lost, and other documents may replace it.
    pub(crate) fn loses_document(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::InvalidDocument { .. })
    }

    /// Returns the status of the answer that ended the run, if one did.
    pub fn status(&self) -> Option<u16> {
        Some(self.http()?.status()?.as_u16())
    }

    /// Returns the permission that the run lacked; `None` if no permission would help.
    pub fn lacks(&self) -> Option<Permission> {
        match self {
            Self::NotResourceSync { lacks, .. } => *lacks,
            _ => self.http()?.lacks(),
        }
    }

    /// Returns the failure of the request that ended the run, if one did.
    fn http(&self) -> Option<&HttpError> {
        let Self::Unreachable { source, .. } = self else { return None };
        Some(&source.downcast_ref::<WithoutUrl<HttpError>>()?.0)
    }

    /// Returns the reason why a connection could not be used, if that ended the run.
    pub fn protocol_failure(&self) -> Option<ProtocolFailure> {
        let mut next: Option<&(dyn StdError + 'static)> = Some(self);
        while let Some(error) = next {
            if let Some(failure) = error.downcast_ref() {
                return Some(*failure);
            }
            next = error.source();
        }
        None
    }

    /// Completes a path of the copy with the folder of the copy.
    pub(crate) fn below(self, dir: &Path) -> Self {
        match self {
            Self::Storage { action, path, source } if !path.starts_with(dir) => {
                let path = if path == Path::new(".") { dir.to_owned() } else { dir.join(path) };
                Self::Storage { action, path, source }
            }
            other => other,
        }
    }
}
