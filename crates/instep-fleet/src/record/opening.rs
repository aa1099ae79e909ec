//! Opens the record of a fleet: in its folder, or in a database.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use instep_store::{Lock, LockError, RootFolder};

#[cfg(feature = "postgres")]
use super::server::RecordServer;
use super::{FleetRecord, file::RecordFile};
use crate::{FleetError, place::FleetPlace};

impl FleetRecord {
    /// Returns the folder of this process's own within that of the fleet.
    pub(crate) fn own_folder(dir: &Path) -> PathBuf {
        dir.join(".instep")
    }

    /// Returns the file of a record that is not in a database.
    pub(crate) fn file(dir: &Path) -> PathBuf {
        Self::own_folder(dir).join("fleet.sqlite")
    }

    /// Opens the record of a fleet; creates it if there is none.
    ///
    /// # Errors
    /// If the folder cannot be created, the server refuses or fails, or the record is newer than this program.
    pub fn open(place: &FleetPlace) -> Result<Self, FleetError> {
        if let Some(url) = &place.state {
            return Self::at_server(url, place, true);
        }
        Self::make_folder(&place.dir)?;
        Ok(Self { engine: Box::new(RecordFile::open(&Self::file(&place.dir))?), dir: place.dir.clone() })
    }

    /// Opens the record of a fleet that there is.
    ///
    /// # Errors
    /// As [`Self::open`], or if there is no fleet.
    pub fn existing(place: &FleetPlace) -> Result<Self, FleetError> {
        if let Some(url) = &place.state {
            return Self::at_server(url, place, false);
        }
        match fs::metadata(Self::file(&place.dir)) {
            Ok(_) => Self::open(place),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(FleetError::NoFleet { place: place.dir.display().to_string() })
            }
            // A fault of the disk: there may be a fleet.
            Err(error) => Err(FleetError::Folder { dir: place.dir.clone(), what: error.to_string() }),
        }
    }

    /// Refuses the folder of a copy or of a Source: the lock of the fleet would be that of the copy, and its files would
    /// be among those that are published.
    fn refuse_other_state(dir: &Path) -> Result<(), FleetError> {
        let own = Self::own_folder(dir);
        let other = [
            ("state.sqlite", "a copy"),
            ("state.json", "a copy"),
            ("catalogue.db", "a Source"),
            ("catalogue.json", "a Source"),
        ];
        let other = other.into_iter().find(|(file, _)| own.join(file).is_file());
        match other.filter(|_| !Self::file(dir).is_file()) {
            Some((_, what)) => Err(FleetError::Usage {
                what: format!(
                    "{} is the folder of {what}; give the fleet a folder of its own",
                    dir.display()
                ),
            }),
            None => Ok(()),
        }
    }

    /// Refuses a folder whose fleet another process keeps, and one that no fleet may have. Nothing is written.
    ///
    /// # Errors
    /// [`FleetError::Locked`] for the former, [`FleetError::Usage`] for the folder of a copy or of a Source.
    pub fn expect_free(dir: &Path) -> Result<(), FleetError> {
        Self::refuse_other_state(dir)?;
        // Any other fault is left to the opening of the fleet, which describes it.
        let Ok(own) = RootFolder::open(&Self::own_folder(dir)) else { return Ok(()) };
        match Lock::take_to_read(&own) {
            Err(LockError::Held { holder }) => Err(FleetError::Locked { dir: dir.to_owned(), holder }),
            _ => Ok(()),
        }
    }

    /// Makes the folder of a fleet, or of a worker, and the one within it.
    ///
    /// # Errors
    /// If it cannot be made, or is the folder of a copy or of a Source.
    pub(crate) fn make_folder(dir: &Path) -> Result<(), FleetError> {
        Self::refuse_other_state(dir)?;
        let failing = |at: &Path, error: std::io::Error| {
            let what = if at.is_file() { "it is a file".to_owned() } else { error.to_string() };
            FleetError::Folder { dir: at.to_owned(), what }
        };
        fs::create_dir_all(dir).map_err(|error| failing(dir, error))?;
        let own = Self::own_folder(dir);
        match fs::DirBuilder::new().mode(0o700).create(&own) {
            Err(error) if !own.is_dir() => Err(failing(&own, error)),
            _ => Ok(()),
        }
    }

    #[cfg(feature = "postgres")]
    fn at_server(url: &str, place: &FleetPlace, makes: bool) -> Result<Self, FleetError> {
        Ok(Self { engine: Box::new(RecordServer::open(url, makes)?), dir: place.dir.clone() })
    }

    #[cfg(not(feature = "postgres"))]
    fn at_server(_: &str, _: &FleetPlace, _: bool) -> Result<Self, FleetError> {
        Err(FleetError::NoEngine)
    }
}
