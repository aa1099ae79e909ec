//! The kinds of errors that a caller decides by.

use std::{io, path::Path};

use rustix::io::Errno;

use super::{Error, StorageFailure, UpstreamFault};

/// The kind of an error, for a caller that decides how to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operator has to change an option or an input.
    Usage,
    /// Another process publishes this Source; try again when it has ended.
    Locked,
    /// A disk, a file system, the object storage or the database of the catalogue failed.
    Storage,
    /// The catalogue was written by a newer version, which has to be used.
    NewerState,
    /// A guard refused the publication; the operator decides.
    Refused,
    /// The service that the resources come from cannot be reached.
    Unreachable,
    /// A request of a client cannot be served as it is: the client has to change it.
    Request,
    /// The publication was stopped, or something failed that no other kind describes.
    Failed,
}

impl Error {
    /// Names the folder of the state if it is a failure of a catalogue whose place is not known.
    pub(crate) fn in_state(mut self, state: &Path) -> Self {
        if let Self::Catalogue { path, .. } = &mut self
            && path.as_os_str().is_empty()
        {
            state.clone_into(path);
        }
        self
    }

    /// Returns the kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Options { .. } | Self::Manifest { .. } => ErrorKind::Usage,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Write { .. }
            | Self::Catalogue { .. }
            | Self::Delivery { .. }
            | Self::ObjectStorage { .. } => ErrorKind::Storage,
            Self::Upstream { fault: UpstreamFault::Unreachable | UpstreamFault::Denied, .. } => {
                ErrorKind::Unreachable
            }
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
            Self::Package { source, .. } if is_of_storage(source.as_ref()) => ErrorKind::Storage,
            Self::Read { source, .. } if has_failed(source) => ErrorKind::Storage,
            Self::Stopped
            | Self::Upstream { .. }
            | Self::Read { .. }
            | Self::Document { .. }
            | Self::Package { .. }
            | Self::Listen { .. }
            | Self::PublisherFailed
            | Self::Watch { .. } => ErrorKind::Failed,
        }
    }
}

/// Returns `true` if the disk, the object storage or the system failed, rather than that a file is not there or not ours to
/// read.
fn has_failed(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::IO | Errno::ROFS | Errno::MFILE | Errno::NFILE))
        || StorageFailure::within(error).is_some()
}

/// Returns `true` if one of the causes is a failure of the disk, the object storage or the system, or a limit: the space of
/// the disk, a quota, or the size of a file.
fn is_of_storage(error: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| {
        has_failed(cause)
            || matches!(cause.kind(), FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn c39_a_failure_of_the_catalogue_names_its_folder_and_never_a_blank() {
        let failure = |path: &str| Error::Catalogue { path: PathBuf::from(path), source: "full".into() };
        assert_eq!(failure("").to_string(), "The catalogue fails");
        assert_eq!(
            failure("").in_state(Path::new("data/.instep")).to_string(),
            "The catalogue data/.instep fails"
        );
        let moved = |set: &str| Error::SetMoved { set: set.to_owned(), resources: 2 }.to_string();
        assert!(
            moved("").starts_with("All 2 resources are at")
                && moved("a").contains("resources of the set a are")
        );
        assert_eq!(failure("a.db").in_state(Path::new("b")).to_string(), "The catalogue a.db fails");
    }
}
