//! The errors of a Source.

mod kind;
mod text;
mod upstream;

use std::{io, path::PathBuf};

use instep_store::error_chain;
use resourcesync::DateTime;

pub use kind::ErrorKind;
use text::deletions_refused;
pub(crate) use text::listed;
pub(crate) use upstream::StorageFailure;
pub use upstream::{UpstreamFailure, UpstreamFault};

/// A reason why a Source cannot continue. A fault that affects only one resource is reported to the
/// [`crate::PublishMonitor`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option, or the configuration, cannot be followed.
    #[error("{option}: {what}")]
    Options {
        /// The option.
        option: String,
        /// A sentence that describes the fault and a correct value.
        what: String,
    },
    /// Another publisher holds the Source.
    #[error("{} is in use by {holder}", path.display())]
    Locked {
        /// The state of the Source.
        path: PathBuf,
        /// The process that holds it.
        holder: String,
    },
    /// The publication would announce more resources as deleted than the guard allows. Nothing of that was recorded.
    #[error("{}", deletions_refused(set, *deletions, *resources, *limit, *empty))]
    DeletionsRefused {
        /// The set of resources.
        set: String,
        /// The resources that were published and are not there.
        deletions: u64,
        /// The resources of the set, these among them.
        resources: u64,
        /// The most deletions allowed.
        limit: u64,
        /// `true` if no resource of the set would be left.
        empty: bool,
    },
    /// All resources of a set have other URIs than before, because its folder or prefix has changed. Nothing is
    /// published as deleted.
    #[error("{}", text::set_moved(set, *resources))]
    SetMoved {
        /// The set of resources.
        set: String,
        /// The resources that were published and are not there.
        resources: u64,
    },
    /// Files cannot be published because of their mode, and the operator wants that to stop the publication.
    #[error("{count} files or folders are not readable by everybody, {first} among them")]
    UnreadableRefused {
        /// Their number.
        count: u64,
        /// The first of them.
        first: String,
    },
    /// The Source was published with another base URL.
    #[error(
        "This Source was published at {published}, and is now given the base URL {given}: readers would treat \
         all its resources as deleted"
    )]
    BaseUrlChanged {
        /// The base URL until now.
        published: String,
        /// The base URL now.
        given: String,
    },
    /// Files that no earlier publication wrote have the names of documents. Nothing was written.
    #[error(
        "{} has files that this Source did not write, at the names of its documents: {}",
        folder.display(),
        listed(names)
    )]
    DocumentsInTheWay {
        /// The folder of the documents.
        folder: PathBuf,
        /// Their names below it.
        names: Vec<String>,
    },
    /// Object storage failed. The delivered documents are consistent; the next publication continues from there.
    #[error("The documents are made; {delivered} of {total} are delivered to {place}: {what}")]
    Delivery {
        /// The bucket and the prefix in it.
        place: String,
        /// The documents that were delivered.
        delivered: usize,
        /// The documents that were to be delivered.
        total: usize,
        /// The reason, and what to do.
        what: String,
    },
    /// The object storage with the resources fails. Nothing is published, and none of them counts as deleted.
    #[error("Cannot read the resources in {place}: {what}")]
    ObjectStorage {
        /// The bucket and the prefix in it.
        place: String,
        /// The reason, and what to do.
        what: String,
    },
    /// The service that the resources come from fails. Nothing is published, and none of them counts as deleted.
    #[error("Cannot read the resources of {url}: {what}")]
    Upstream {
        /// The URL of the service.
        url: String,
        /// The reason.
        what: String,
        /// The kind of the fault.
        fault: UpstreamFault,
    },
    /// The Source ended before the publication was complete. Recorded changes stay, and the next publication
    /// continues from there.
    #[error("The publication was stopped before it was complete")]
    Stopped,
    /// A file or folder cannot be read.
    #[error("Cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("Cannot write {}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A document cannot be made.
    #[error("Cannot make {name}")]
    Document {
        /// Its name below the documents.
        name: String,
        /// The cause.
        #[source]
        source: resourcesync::WriteError,
    },
    /// The catalogue fails.
    #[error("The catalogue{} fails", text::of_path(path))]
    Catalogue {
        /// Its file; empty if it is not known where the error arose.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The catalogue was written by a newer version.
    #[error("The catalogue {} has version {found}; this program knows versions up to {known}", path.display())]
    NewerCatalogue {
        /// Its file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A manifest of resources, or the input of an application, is wrong.
    #[error("{}, line {line}: {what}", path.display())]
    Manifest {
        /// Its file; `-` for standard input.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// A sentence that describes the fault.
        what: String,
    },
    /// A package cannot be made.
    #[error("Cannot make the package {name}")]
    Package {
        /// Its name below the documents.
        name: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A batch request has URIs that are not resources of the set.
    #[error("{} of the URIs are not resources of this set", uris.len())]
    UnknownResources {
        /// The URIs.
        uris: Vec<String>,
    },
    /// A batch request exceeds a limit.
    #[error("More than {most} {what}")]
    TooMuch {
        /// The quantity.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// A batch request is for changes since a time before the published Change Lists.
    #[error("Changes are known only since {from}")]
    TooEarly {
        /// The earliest time.
        from: DateTime,
    },
    /// The address cannot be listened on.
    #[error("Cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The thread that publishes has ended by a fault in the program, which is in the log.
    #[error("Publishing has ended because of a fault in the program")]
    PublisherFailed,
    /// The content cannot be watched.
    #[error("Cannot watch {}", path.display())]
    Watch {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Returns the text for clients of the Source, without the places of its files (C18). The log has the complete
    /// error.
    pub(crate) fn public_text(&self) -> String {
        match self {
            Self::Read { source, .. } => format!("A file or folder cannot be read: {source}"),
            Self::Write { source, .. } => format!("A file or folder cannot be written: {source}"),
            Self::Catalogue { .. } | Self::NewerCatalogue { .. } => "The catalogue fails".to_owned(),
            Self::Manifest { line, what, .. } => {
                format!("Line {line} of a list of resources is wrong: {what}")
            }
            Self::ObjectStorage { .. } => "The object storage of the resources fails".to_owned(),
            Self::Upstream { .. } => "The origin of the resources cannot be read".to_owned(),
            Self::Watch { .. } => "The content cannot be watched".to_owned(),
            Self::Locked { .. } => "Another run holds the Source".to_owned(),
            Self::UnreadableRefused { count, .. } => {
                format!("{count} files or folders are not readable by everybody")
            }
            Self::DocumentsInTheWay { names, .. } => {
                format!("Other files have the names of documents: {}", listed(names))
            }
            _ => error_chain(self),
        }
    }

    pub(crate) fn option(option: &str, what: impl Into<String>) -> Self {
        Self::Options { option: option.to_owned(), what: what.into() }
    }

    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Read { path, source }
    }

    /// Returns the error of a supplier that cannot list its resources.
    pub(crate) fn supplied(folder: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = folder.into();
        |source| match (StorageFailure::within(&source), UpstreamFailure::within(&source).cloned()) {
            (Some(StorageFailure { place, what }), _) => {
                Self::ObjectStorage { place: place.clone(), what: what.clone() }
            }
            (None, Some(UpstreamFailure { url, what, fault })) => Self::Upstream { url, what, fault },
            (None, None) => Self::Read { path, source },
        }
    }

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Write { path, source }
    }
}
