//! Conversion of the errors of each area into [`Error`]: the exit code depends on the kind chosen here.

use std::path::PathBuf;

use instep_net::HttpError;
use instep_store::database::DatabaseError;

use super::{BesideUrl as _, Error, Guard, WithoutUrl};
#[cfg(feature = "postgres")]
use crate::state::PostgresError;
use crate::{
    commit::CommitError, discover::DiscoverError, documents::DocumentError, state::StateError,
    store::StoreError,
};

impl From<HttpError> for Error {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::Option { what } => Self::Usage { what },
            error => {
                let url = match &error {
                    HttpError::HostDown { host, .. } => host.clone(),
                    error => error.uri().unwrap_or_default().to_owned(),
                };
                Self::Unreachable { url, source: Box::new(WithoutUrl(error)) }
            }
        }
    }
}

impl From<DocumentError> for Error {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Http(error) => error.into(),
            DocumentError::Stopped { .. } => Self::Interrupted,
            DocumentError::Spool { .. } => Self::Storage {
                action: "write below",
                path: PathBuf::from(".instep"),
                source: Box::new(error),
            },
            DocumentError::TooLarge { ref uri, .. }
            | DocumentError::TooMany { ref uri, .. }
            | DocumentError::File { ref uri }
            | DocumentError::Coding { ref uri, .. }
            | DocumentError::Activities { ref uri, .. }
            | DocumentError::Read { ref uri, .. } => {
                Self::InvalidDocument { url: uri.clone(), what: error.beside(uri) }
            }
        }
    }
}

impl From<DiscoverError> for Error {
    fn from(error: DiscoverError) -> Self {
        match error {
            DiscoverError::Unreachable { source, .. } | DiscoverError::Invalid { source, .. } => {
                source.into()
            }
            DiscoverError::Nothing { ref url, ref looked_at } => Self::NotResourceSync {
                url: url.as_str().to_owned(),
                reasons: looked_at.iter().map(ToString::to_string).collect(),
                lacks: error.lacks(),
            },
            DiscoverError::NoSuchSet { .. } | DiscoverError::TooManySets { .. } => {
                Self::Usage { what: error.to_string() }
            }
            DiscoverError::TooMuch { uri, most } => {
                let what =
                    format!("together the Capability Lists have more than {most} capabilities and links");
                Self::InvalidDocument { url: uri.into_string(), what }
            }
            DiscoverError::NoDocument { uri, what } => Self::InvalidDocument { url: uri.into_string(), what },
            DiscoverError::SeveralSets { sets } => {
                Self::SeveralSets { sets: sets.iter().map(ToString::to_string).collect() }
            }
        }
    }
}

impl From<CommitError> for Error {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Store(error) => error.into(),
            CommitError::State(error) => error.into(),
        }
    }
}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Database(DatabaseError::Newer { path, found, known }) => {
                Self::NewerState { path, found: found.into(), known: known.into() }
            }
            StateError::Database(error) => {
                Self::State { path: error.path().to_owned(), source: Box::new(error), may_pass: false }
            }
            StateError::Record { ref place, .. } => {
                Self::State { path: PathBuf::from(place), source: Box::new(error), may_pass: false }
            }
            StateError::Storage { path, source } | StateError::Sqlite { path, source } => {
                Self::State { path, source: Box::new(source), may_pass: false }
            }
            StateError::Scratch { path, source } => {
                Self::Storage { action: "write", path, source: Box::new(source) }
            }
            #[cfg(feature = "postgres")]
            StateError::Postgres(error) => error.into(),
            StateError::TooManySets { .. } | StateError::Elsewhere { .. } | StateError::NoEngine { .. } => {
                Self::Usage { what: error.to_string() }
            }
        }
    }
}

#[cfg(feature = "postgres")]
impl From<PostgresError> for Error {
    fn from(error: PostgresError) -> Self {
        match error {
            PostgresError::Url { .. }
            | PostgresError::Denied { .. }
            | PostgresError::Foreign { .. }
            | PostgresError::Missing { .. } => Self::Usage { what: error.to_string() },
            PostgresError::Newer { place, found, known } => {
                Self::NewerState { path: PathBuf::from(place), found: found.into(), known: known.into() }
            }
            PostgresError::Taken { place, holder } => Self::Locked { dir: PathBuf::from(place), holder },
            error => {
                // A run that begins anew after one of these two reads what the server has now.
                let is_stale =
                    matches!(error, PostgresError::WentBack { .. } | PostgresError::Interrupted { .. });
                let may_pass = is_stale || error.may_pass();
                let path = PathBuf::from(error.place());
                Self::State { path, source: error.into_reason(), may_pass }
            }
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked { path, owner } => Self::Locked { dir: path, holder: owner },
            StoreError::BackupsInCopy { .. } => Self::Usage { what: error.to_string() },
            StoreError::NotTheCopy { .. } | StoreError::NoObjects { .. } => {
                Self::Refused { guard: Guard::MarkerMissing, what: error.to_string() }
            }
            StoreError::Blocked { path, by } => {
                let what = format!("it is blocked by {by}: move it away");
                Self::Storage { action: "use", path: PathBuf::from(path), source: what.into() }
            }
            StoreError::Reserve { .. } => Self::Storage {
                action: "continue writing",
                path: PathBuf::from("."),
                source: Box::new(error),
            },
            StoreError::Bucket { doing, place, source } => Self::ObjectStorage {
                action: doing,
                place,
                what: source.to_string(),
                may_pass: source.may_pass(),
            },
            StoreError::Io { doing, path, source } => {
                Self::Storage { action: doing, path: PathBuf::from(path), source: Box::new(source) }
            }
        }
    }
}

impl From<tokio::task::JoinError> for Error {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::Task { source: Box::new(error) }
    }
}
