//! The place of a catalogue: a file in the folder of the state, or a database, which the folder then remembers.

#[cfg(feature = "postgres")]
use std::sync::Arc;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

#[cfg(feature = "postgres")]
use super::postgres::{CatalogueDatabase, DatabaseSource, PostgresError};
use super::{CATALOGUE, Catalogue, CatalogueError, Clock};
#[cfg(feature = "postgres")]
use super::{system_clock, timeline::Timeline};
use crate::Error;

/// The name of the file that remembers a catalogue which lies elsewhere.
const NOTE: &str = "catalogue.json";
const VERSION: u32 = 1;

/// The place of the catalogue of a Source.
#[derive(Clone, Debug)]
pub(crate) enum CatalogueLocation {
    /// An SQLite file.
    File(PathBuf),
    /// A Source in a database of PostgreSQL, and the name by which it knows the folder of the state.
    #[cfg(feature = "postgres")]
    Postgres(Box<DatabaseSource>, String),
}

/// A catalogue that lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteCatalogue {
    version: u32,
    /// Its URL, without a password.
    catalogue: String,
    /// The name of the Source there.
    source: String,
    /// A name that no other folder has: whoever has its lock knows that earlier processes over it are dead.
    folder: String,
}

impl CatalogueLocation {
    /// Returns the place of the catalogue of a Source with this folder of its state: the one at a URL, the one that the
    /// folder remembers, or the file in the folder. In a database it has the first of the names that is there, or gets the
    /// first.
    ///
    /// # Errors
    /// If the URL is none of a catalogue, or the Source has its catalogue elsewhere.
    pub(crate) fn of(state: &Path, url: Option<&str>, names: &[&str]) -> Result<Self, Error> {
        let file = state.join(CATALOGUE);
        match (RemoteCatalogue::read(state)?, url) {
            (None, None) => Ok(Self::File(file)),
            (None, Some(_)) if file.exists() => {
                let what = format!(
                    "this Source has its catalogue in {}; name another folder for the state, or move the Source's there away",
                    file.display()
                );
                Err(Error::option("catalogue", what))
            }
            (remembered, url) => Self::remote(remembered, url, names),
        }
    }

    /// Returns the place of a catalogue that the folder of a state has or remembers.
    ///
    /// # Errors
    /// If what it remembers cannot be read.
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
            Some(before) if before.catalogue != database.shown() || !database.may_be(&before.source) => {
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
    pub(crate) fn is_in(state: &Path) -> bool {
        state.join(CATALOGUE).exists() || state.join(NOTE).exists()
    }

    /// Returns the URL of the database; `None` for a file.
    pub(crate) fn database(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(database, _) => Some(database.shown()),
        }
    }

    /// Checks that a catalogue can be made here, before anything of the Source is.
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

    /// Opens or makes the catalogue to write it, with a clock of the caller's.
    ///
    /// # Errors
    /// If it cannot be opened, is none of ours, or was written by a later version; in a database also if another process
    /// publishes the Source.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "a file lies in the folder"))]
    pub(crate) fn open(&self, state: &Path, clock: Clock) -> Result<Catalogue, Error> {
        match self {
            Self::File(path) => Ok(Catalogue::with_clock(path, clock)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(database, _) => {
                let (database, writer, last) = CatalogueDatabase::open(database)?;
                let timeline = Timeline::after(last, clock);
                let catalogue = Catalogue::over(Arc::new(database), Box::new(writer), timeline, false)?;
                // Before anything is published: what is there must be found again.
                self.remember(state, &catalogue)?;
                Ok(catalogue)
            }
        }
    }

    /// Has the folder of the state remember where the catalogue is, and the name that the Source has there now.
    ///
    /// # Errors
    /// If the folder cannot be written, or the server fails.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "a file lies in the folder"))]
    pub(crate) fn remember(&self, state: &Path, catalogue: &Catalogue) -> Result<(), Error> {
        match self {
            Self::File(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(database, folder) => {
                let now = RemoteCatalogue {
                    version: VERSION,
                    catalogue: database.shown().to_owned(),
                    source: catalogue.name()?.unwrap_or_default(),
                    folder: folder.clone(),
                };
                match RemoteCatalogue::read(state)?.as_ref() == Some(&now) {
                    true => Ok(()),
                    false => now.write(state),
                }
            }
        }
    }

    /// Opens the catalogue only to read it, also beside a process that writes; `None` if there is none.
    ///
    /// # Errors
    /// If it is none of ours or of a later version, or storage or the server fails.
    pub(crate) fn beside(&self) -> Result<Option<Catalogue>, Error> {
        match self {
            Self::File(path) if !path.exists() => Ok(None),
            Self::File(path) => Ok(Some(Catalogue::beside(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(database, _) => match CatalogueDatabase::open_beside(database) {
                Ok((database, writer, last)) => {
                    let timeline = Timeline::after(last, system_clock());
                    Ok(Some(Catalogue::over(Arc::new(database), Box::new(writer), timeline, true)?))
                }
                Err(CatalogueError::Postgres(error)) if matches!(*error, PostgresError::Missing { .. }) => {
                    Ok(None)
                }
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// Returns a number that nothing else has.
#[cfg(feature = "postgres")]
fn fresh_number() -> u128 {
    let mut bytes = [0; 16];
    // Without random numbers the system has no working process either; a name that another folder has only costs a wait.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    u128::from_ne_bytes(bytes)
}

impl RemoteCatalogue {
    /// Reads what the folder of a state remembers; `None` if the catalogue lies in the folder.
    fn read(state: &Path) -> Result<Option<Self>, Error> {
        let path = state.join(NOTE);
        let text = match fs::read(&path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            text => text.map_err(Error::read(&path))?,
        };
        let damaged =
            |what: String| CatalogueError::Record { path: path.clone(), name: "catalogue".to_owned(), what };
        let read: Self = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match read.version {
            VERSION => Ok(Some(read)),
            version => Err(damaged(format!("it has version {version}, this program knows {VERSION}")).into()),
        }
    }

    /// Writes it into the folder of a state, in place of what is there.
    #[cfg(feature = "postgres")]
    fn write(&self, state: &Path) -> Result<(), Error> {
        let path = state.join(NOTE);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(state)?;
            serde_json::to_writer(&mut file, self)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            fs::File::open(state)?.sync_all()
        };
        write().map_err(Error::write(&path))
    }
}
