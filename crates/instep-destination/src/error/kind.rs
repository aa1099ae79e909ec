//! The kinds of errors, by which callers decide what to do next.

use super::Error;
use crate::exit_code;

/// The kind of an error. Each has its own [exit code](crate::exit_code).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A part of the program ended unexpectedly, or broke a rule of its own: please report it.
    Failed,
    /// The operator has to change an option or the configuration.
    Usage,
    /// The Source cannot be reached, or is not a ResourceSync Source.
    Unreachable,
    /// A document of the Source cannot be used: its operator has to correct it.
    InvalidDocument,
    /// A guard refused the plan, or its deletions: the operator decides.
    Refused,
    /// Another run works on the copy: try again when it has ended.
    Locked,
    /// The disk, the object storage or the state failed.
    Storage,
    /// The state was written by a newer version, which has to be used.
    NewerState,
    /// The run was ended before it was complete: the next one continues.
    Interrupted,
}

impl Error {
    /// Returns the kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Usage { .. } | Self::SeveralSets { .. } | Self::NoCopy { .. } => ErrorKind::Usage,
            Self::Unreachable { .. } | Self::NotResourceSync { .. } => ErrorKind::Unreachable,
            Self::InvalidDocument { .. } => ErrorKind::InvalidDocument,
            Self::Refused { .. } => ErrorKind::Refused,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Storage { .. } | Self::ObjectStorage { .. } | Self::State { .. } => ErrorKind::Storage,
            Self::NewerState { .. } => ErrorKind::NewerState,
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Task { .. } | Self::Invariant { .. } => ErrorKind::Failed,
        }
    }

    /// Returns the exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self.kind() {
            ErrorKind::Failed => exit_code::FAILED,
            ErrorKind::Usage => exit_code::USAGE,
            ErrorKind::Unreachable => exit_code::UNREACHABLE,
            ErrorKind::InvalidDocument => exit_code::INVALID,
            ErrorKind::Refused => exit_code::REFUSED,
            ErrorKind::Locked => exit_code::LOCKED,
            ErrorKind::Storage => exit_code::STORAGE,
            ErrorKind::NewerState => exit_code::NEWER_STATE,
            ErrorKind::Interrupted => exit_code::INTERRUPTED,
        }
    }

    /// Returns `true` if the same run may succeed later without any change by the operator.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind(), ErrorKind::Unreachable | ErrorKind::InvalidDocument | ErrorKind::Locked)
    }
}
