//! The checks before a fleet begins, and its folder, whose lock keeps a second process out.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use instep_destination::{ObjectLayout, now};
use instep_net::Client;
use instep_store::{Lock, LockError, RootFolder};

use crate::{FleetError, definition::SourceDefinition, options::FleetOptions, record::FleetRecord};

/// Refuses options that do not go together, and certificates, a proxy and object storage that cannot be used.
pub(super) fn check(options: &FleetOptions, configured: &[SourceDefinition]) -> Result<(), FleetError> {
    for definition in configured {
        definition.expect_shared(options)?;
    }
    Client::new(options.access.http_options("file:")?)?;
    let Some(store) = &options.store else { return Ok(()) };
    if options.state.is_some() && store.layout == ObjectLayout::Names {
        let what = "several workers cannot share a copy with an object per resource: leave ?layout=names out";
        return Err(FleetError::Usage { what: what.to_owned() });
    }
    Ok(store.check()?)
}

/// Makes the configuration file's Sources those of the fleet. In a shared fleet, a worker without any removes none.
pub(super) fn configure(record: &mut FleetRecord, configured: &[SourceDefinition]) -> Result<(), FleetError> {
    if record.is_shared() && configured.is_empty() {
        return Ok(());
    }
    record.configure(configured, seconds())
}

/// Returns the time, in seconds since 1970.
pub(super) fn seconds() -> i64 {
    now().unix_micros().div_euclid(1_000_000)
}

/// The folder of a fleet, locked.
pub(super) struct LockedFolder {
    dir: PathBuf,
    /// Its lock and its record, each with its device and number.
    files: Vec<(PathBuf, (u64, u64))>,
    _lock: Lock,
}

impl LockedFolder {
    /// Takes the lock of the fleet's folder.
    pub(super) fn take(dir: &Path) -> Result<Self, FleetError> {
        let failing = |what: String| FleetError::Folder { dir: dir.to_owned(), what };
        let path = FleetRecord::own_folder(dir);
        let own = RootFolder::open(&path).map_err(|error| failing(error.to_string()))?;
        let lock = match Lock::take(&own, &format!("process {}: instep run", std::process::id())) {
            Ok(lock) => lock,
            Err(LockError::Held { holder }) => {
                return Err(FleetError::Locked { dir: dir.to_owned(), holder });
            }
            Err(error) => return Err(failing(error.to_string())),
        };
        let files = [path.join(Lock::NAME), FleetRecord::file(dir)].into_iter();
        let files = files.filter_map(|path| Some((path.clone(), number(&path).ok()?)));
        Ok(Self { dir: dir.to_owned(), files: files.collect(), _lock: lock })
    }

    /// Checks that it is still there. What is written into a removed record is lost with the process, and another process
    /// could keep the same copies.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if a file of it was removed or replaced.
    pub(super) fn check(&self) -> Result<(), FleetError> {
        for (path, known) in &self.files {
            let is_gone = match number(path) {
                Ok(number) => number != *known,
                // Any other failure may pass.
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            if is_gone {
                let what = format!(
                    "{} was removed or replaced while the fleet ran; restore it, or start again with what is there",
                    path.display()
                );
                return Err(FleetError::Folder { dir: self.dir.clone(), what });
            }
        }
        Ok(())
    }
}

/// Returns the device and the number of a file, by which a replaced one is recognised.
fn number(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}
