//! The place of a catalogue: a file in the state folder, or a database whose URL a file in the state folder records.

#[cfg(feature = "postgres")]
use std::sync::Arc;
#[cfg(all(feature = "serve", feature = "postgres"))]
use std::sync::atomic::AtomicBool;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use instep_store::versioned::{self, RecordFileError};
use serde::{Deserialize, Serialize};

#[cfg(feature = "postgres")]
use super::postgres::{CatalogueDatabase, DatabaseSource, PostgresError};
use super::{CATALOGUE, Catalogue, CatalogueError, Clock};
#[cfg(feature = "postgres")]
use super::{system_clock, timeline::Timeline};
use crate::Error;

/// The name of the file that records a catalogue in a database.
const NOTE: &str = "catalogue.json";
const VERSION: u32 = 1;

/// The place of the catalogue of a Source.
#[derive(Clone, Debug)]
pub(crate) enum CatalogueLocation {
    /// An SQLite file.
    File(PathBuf),
    /// A Source in a PostgreSQL database, and the name of the state folder there.
    #[cfg(feature = "postgres")]
    Postgres(Box<DatabaseSource>, String),
}

/// The record of a catalogue in a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteCatalogue {
    /// Its URL, without a password.
    catalogue: String,
    /// The name of the Source there.
    source: String,
    /// A name that no other state folder has. The process that has the lock of the folder knows that earlier
    /// processes with this name are dead.
    folder: String,
}

impl CatalogueLocation {
    /// Returns the place of the catalogue of a Source: the database at `url`, the one that the state folder records,
    /// or the file in that folder. Of `names`, a database uses the first that it has, or else creates the first.
    ///
    /// # Errors
    /// If the URL does not name a catalogue, or the Source has its catalogue elsewhere.
    pub(crate) fn of(state: &Path, url: Option<&str>, names: &[&str]) -> Result<Self, Error> {
        let file = state.join(CATALOGUE);
        match (RemoteCatalogue::read(state)?, url) {
            (None, None) => Ok(Self::File(file)),
            (None, Some(_)) if is_there(&file)? => {
                let what = format!(
                    "this Source has its catalogue in {}; name another folder for the state, or move the Source's there away",
                    file.display()
                );
                Err(Error::option("catalogue", what))
            }
            (remembered, url) => Self::remote(remembered, url, names),
        }
    }

    /// Returns the place of the catalogue in the state folder, or of the one that it records.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub(crate) fn known(state: &Path) -> Result<Self, Error> {
        Self::of(state, None, &[])
    }

    #[cfg(feature = "postgres")]
    fn remote(remembered: Option<RemoteCatalogue>, url: Option<&str>, names: &[&str]) -> Result<Self, Error> {
        let known = remembered.as_ref();
        let folder = known.map_or_else(|| format!("{:032x}", fresh_number()), |it| it.folder.clone());
        let names = known.map(|before| before.source.as_str()).into_iter().chain(names.iter().copied());
        let names: Vec<String> = names.map(str::to_owned).collect();
        let url = url.or(known.map(|before| before.catalogue.as_str())).unwrap_or_default();
        let database = DatabaseSource::at(url, names, &folder).map_err(CatalogueError::from)?;
        match known {
            Some(before) if !database.is_at(&before.catalogue) || !database.may_be(&before.source) => {
                let what = format!(
                    "this Source has its catalogue at {}, as {:?}; name another folder for the state to begin with a new one",
                    before.catalogue, before.source
                );
                Err(Error::option("catalogue", what))
            }
            _ => Ok(Self::Postgres(Box::new(database), folder)),
        }
    }

    #[cfg(not(feature = "postgres"))]
    fn remote(remembered: Option<RemoteCatalogue>, _: Option<&str>, _: &[&str]) -> Result<Self, Error> {
        let place = remembered.map_or_else(String::new, |before| format!(" at {}", before.catalogue));
        let what = format!("a catalogue in PostgreSQL{place} needs a program that was built with it");
        Err(Error::option("catalogue", what))
    }

    /// Returns `true` if something was published with this state.
    ///
    /// # Errors
    /// If a fault hides that: a state that cannot be read is not a new one.
    pub(crate) fn is_in(state: &Path) -> Result<bool, Error> {
        Ok(is_there(&state.join(CATALOGUE))? || is_there(&state.join(NOTE))?)
    }

    /// Returns the URL of the database; `None` for a file.
    pub(crate) fn database(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(database, _) => Some(database.shown()),
        }
    }

    /// Stops to wait for the right to publish once a flag is set.
    #[cfg(all(feature = "serve", feature = "postgres"))]
    pub(crate) fn give_up_with(&mut self, flag: Arc<AtomicBool>) {
        if let Self::Postgres(database, _) = self {
            database.give_up_with(flag);
        }
    }

    /// Checks that a catalogue can be created here, before anything else of the Source is created.
    ///
    /// # Errors
    /// If a server refuses or cannot be reached, or has tables that this program does not know.
    pub(crate) fn probe(&self) -> Result<(), Error> {
        match self {
            Self::File(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(database, _) => Ok(database.probe().map_err(CatalogueError::from)?),
        }
    }

    /// Opens the catalogue for writing with the given clock; creates it if there is none.
    ///
    /// # Errors
    /// If it cannot be opened, is not a catalogue of instep, or was written by a later version; with a database also
    /// if another process publishes the Source.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "the catalogue is a file in the folder")
    )]
    pub(crate) fn open(&self, state: &Path, clock: Clock) -> Result<Catalogue, Error> {
        match self {
            Self::File(path) => Ok(Catalogue::with_clock(path, clock)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(database, _) => {
                let (database, writer, last) = CatalogueDatabase::open(database)?;
                let timeline = Timeline::after(last, clock);
                let catalogue = Catalogue::over(Arc::new(database), Box::new(writer), timeline)?;
                // Recorded before anything is published, so that the next run finds the catalogue again.
                self.remember(state, &catalogue)?;
                Ok(catalogue)
            }
        }
    }

    /// Records in the state folder where the catalogue is, and the name of the Source there.
    ///
    /// # Errors
    /// If the folder cannot be written, or the server fails.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "the catalogue is a file in the folder")
    )]
    pub(crate) fn remember(&self, state: &Path, catalogue: &Catalogue) -> Result<(), Error> {
        match self {
            Self::File(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(database, folder) => {
                let now = RemoteCatalogue {
                    catalogue: database.recorded().to_owned(),
                    source: catalogue.name()?.unwrap_or_default(),
                    folder: folder.clone(),
                };
                if RemoteCatalogue::read(state)?.as_ref() == Some(&now) { Ok(()) } else { now.write(state) }
            }
        }
    }

    /// Opens the catalogue for reading only, also while another process writes it; `None` if there is none.
    ///
    /// # Errors
    /// If it is not a catalogue of instep or was written by a later version, or the disk or the server fails.
    pub(crate) fn beside(&self) -> Result<Option<Catalogue>, Error> {
        match self {
            Self::File(path) if !is_there(path)? => Ok(None),
            Self::File(path) => Ok(Some(Catalogue::beside(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(database, _) => match CatalogueDatabase::open_beside(database) {
                Ok((database, writer, last)) => {
                    let timeline = Timeline::after(last, system_clock());
                    let catalogue = Catalogue::over(Arc::new(database), Box::new(writer), timeline)?;
                    Ok(Some(Catalogue { is_beside: true, ..catalogue }))
                }
                Err(CatalogueError::Postgres(error)) if matches!(*error, PostgresError::Missing { .. }) => {
                    Ok(None)
                }
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// Returns `true` if something has this path. A fault is not taken for absence.
pub(crate) fn is_there(path: &Path) -> Result<bool, Error> {
    match path.try_exists() {
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(false),
        found => found.map_err(Error::read(path)),
    }
}

/// Returns a random number for a unique name.
#[cfg(feature = "postgres")]
fn fresh_number() -> u128 {
    let mut bytes = [0; 16];
    // If the system has no random numbers, a name that another folder has only costs a wait.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    u128::from_ne_bytes(bytes)
}

impl RemoteCatalogue {
    /// Reads the record in the state folder; `None` if the catalogue is a file in that folder.
    fn read(state: &Path) -> Result<Option<Self>, Error> {
        let path = state.join(NOTE);
        versioned::read_file(&path, VERSION).map_err(|error| match error {
            RecordFileError::Io(source) => Error::read(&path)(source),
            RecordFileError::Content { what } => {
                CatalogueError::Record { path, name: "catalogue".to_owned(), what }.into()
            }
        })
    }

    /// Writes the record into the state folder, in place of an earlier one.
    #[cfg(feature = "postgres")]
    fn write(&self, state: &Path) -> Result<(), Error> {
        versioned::write_file(state, NOTE, VERSION, self).map_err(Error::write(state.join(NOTE)))
    }
}
