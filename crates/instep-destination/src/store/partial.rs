//! Parts of large files that outlive a run, with the data that is needed to request the rest.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read as _, Write as _},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use data_encoding::HEXLOWER;
use instep_store::Staging;
use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::{StagedName, StoreError};

const PREFIX: &str = "part-";
const VALIDATOR: &str = ".validator";
const LONGEST_VALIDATOR: u64 = 4_096;

/// The time after which a part that no run has continued is removed.
const OLDEST: Duration = Duration::from_secs(14 * 24 * 3_600);

/// The parts that are being written. Two transfers from one URI, as from a mirror that two resources have, must not write
/// the same file: the first one that is complete would place the bytes of the other.
#[derive(Clone, Debug, Default)]
pub(super) struct PartsInUse(Arc<Mutex<BTreeSet<String>>>);

impl PartsInUse {
    /// Returns the part of a URI; `None` if it is being written.
    pub(super) fn take(&self, uri: &str) -> Option<PartInUse> {
        let name = name_for(uri);
        self.names().insert(name.clone()).then(|| PartInUse { name, all: self.clone() })
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of which nobody else is a writer, until this is dropped.
#[derive(Debug)]
pub(super) struct PartInUse {
    name: String,
    all: PartsInUse,
}

impl PartInUse {
    /// Returns its name in staging.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for PartInUse {
    fn drop(&mut self) {
        self.all.names().remove(&self.name);
    }
}

/// Returns the name that the part of a URI has in staging.
fn name_for(uri: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, uri.as_bytes());
    format!("{PREFIX}{}", HEXLOWER.encode(&digest.as_ref()[..16]))
}

/// Turns a staged file into a part.
pub(super) fn keep(
    staging: &Staging,
    name: StagedName,
    part: &str,
    validator: &str,
) -> Result<(), StoreError> {
    // A part that is still there is of another version, and must not get the validator of this one.
    match rustix::fs::unlinkat(staging, part, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(StoreError::of("replace", part, error)),
    }
    // The validator is written before the part gets its name: a part without a validator is never continued, and a
    // validator without a part does no harm.
    let sidecar = format!("{part}{VALIDATOR}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let note = |error: io::Error| StoreError::of("note the validator of", part, error);
    let sidecar = rustix::fs::openat(staging, &sidecar, flags, Mode::from_raw_mode(0o600));
    File::from(sidecar.map_err(|error| note(error.into()))?)
        .write_all(format!("{validator}\n{}", started()).as_bytes())
        .map_err(note)?;
    staging.place(name, staging, part).map_err(|error| StoreError::of("keep", part, error))
}

/// Opens the part of a URI, with its validator; `None` if there is no usable one. It keeps its name until it is
/// complete: if a run is killed while it continues a part, the next one can use it. It was never synced: unless a
/// digest will verify the complete resource, a part from before the last start of the machine is not used (R1).
pub(super) fn reopen(
    staging: &Staging,
    part: &str,
    will_verify: bool,
) -> Result<Option<(File, String)>, StoreError> {
    let sidecar = format!("{part}{VALIDATOR}");
    let (Some(file), Some(noted)) = (open(staging, part)?, open(staging, &sidecar)?) else { return Ok(None) };
    let mut text = String::new();
    noted
        .take(LONGEST_VALIDATOR)
        .read_to_string(&mut text)
        .map_err(|error| StoreError::io("read the validator of", part, error))?;
    let (validator, began) = text.split_once('\n').unwrap_or((&text, ""));
    let is_whole = will_verify || (!began.is_empty() && began == started());
    Ok(is_whole.then(|| (file, validator.to_owned())))
}

/// Returns an identifier of this start of the machine; empty if the system has none.
fn started() -> &'static str {
    static STARTED: OnceLock<String> = OnceLock::new();
    STARTED.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().to_owned()
    })
}

/// Opens a plain file in staging; `None` if there is none. Anything else with the name, such as a pipe without a
/// writer, counts as none: the resource is fetched from its start.
fn open(staging: &Staging, name: &str) -> Result<Option<File>, StoreError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match rustix::fs::openat(staging, name, flags, Mode::empty()) {
        Ok(file) => {
            let file = File::from(file);
            let metadata = file.metadata().map_err(|error| StoreError::io("look at", name, error))?;
            Ok(metadata.is_file().then_some(file))
        }
        Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => Ok(None),
        Err(error) => Err(StoreError::of("open", name, error)),
    }
}

/// Turns a part into a staged file again.
pub(super) fn finish(staging: &Staging, part: &str, name: StagedName) -> Result<(), StoreError> {
    let finished = staging
        .take_out(staging, part, name)
        .and_then(|()| Ok(rustix::fs::unlinkat(staging, format!("{part}{VALIDATOR}"), AtFlags::empty())?));
    finished.map_err(|error| StoreError::of("finish", part, error))
}

/// Returns `true` if a name in staging is that of a part, or of its validator, that a run may still continue.
pub(super) fn is_worth_keeping(staging: &Staging, name: &str) -> bool {
    if !name.starts_with(PREFIX) {
        return false;
    }
    let Ok(stat) = rustix::fs::statat(staging, name, AtFlags::SYMLINK_NOFOLLOW) else { return true };
    let modified = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default());
    SystemTime::now().duration_since(modified).is_ok_and(|age| age <= OLDEST)
}
