//! The checks before a fleet begins, and the lock that keeps a second process out.

use std::path::Path;

use instep_destination::{ObjectLayout, check_place, now};
use instep_store::{Lock, LockError, RootFolder};

use crate::{FleetError, definition::SourceDefinition, options::FleetOptions, record::FleetRecord};

/// Refuses options that do not go together, and object storage that cannot be used.
pub(super) fn check(options: &FleetOptions, configured: &[SourceDefinition]) -> Result<(), FleetError> {
    for definition in configured {
        definition.expect_shared(options)?;
    }
    let Some(store) = &options.store else { return Ok(()) };
    if options.state.is_some() && store.layout == ObjectLayout::Names {
        let what = "several workers cannot share a copy with an object per resource: leave ?layout=names out";
        return Err(FleetError::Usage { what: what.to_owned() });
    }
    Ok(check_place(store)?)
}

/// Makes the configuration file's Sources those of the fleet. In a shared fleet, a worker without any removes none.
pub(super) fn configure(record: &mut FleetRecord, configured: &[SourceDefinition]) -> Result<(), FleetError> {
    if record.is_shared() && configured.is_empty() {
        return Ok(());
    }
    record.configure(configured, seconds())
}

/// The time, in seconds since 1970.
pub(super) fn seconds() -> i64 {
    now().unix_micros().div_euclid(1_000_000)
}

/// Takes the lock of the fleet's folder.
pub(super) fn lock(dir: &Path) -> Result<Lock, FleetError> {
    let failing = |what: String| FleetError::Folder { dir: dir.to_owned(), what };
    let own = RootFolder::open(&FleetRecord::own_folder(dir)).map_err(|error| failing(error.to_string()))?;
    match Lock::take(&own, &format!("process {}: instep run", std::process::id())) {
        Ok(lock) => Ok(lock),
        Err(LockError::Held { holder }) => Err(FleetError::Locked { dir: dir.to_owned(), holder }),
        Err(error) => Err(failing(error.to_string())),
    }
}
