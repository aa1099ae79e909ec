//! Parts of large files that outlive a run, with what is needed to ask for the rest.

use std::{
    fmt::Write as _,
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::{StagedName, StoreError, beneath::explain};

pub(super) const PREFIX: &str = "part-";
const VALIDATOR: &str = ".validator";
const LONGEST_VALIDATOR: u64 = 4_096;

/// The name that the part of a URI has in staging.
pub(super) fn name_for(uri: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, uri.as_bytes());
    digest.as_ref().iter().take(16).fold(PREFIX.to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// Turns a staged file into a part.
pub(super) fn keep(staging: &OwnedFd, name: &str, part: &str, validator: &str) -> Result<(), StoreError> {
    let sidecar = format!("{part}{VALIDATOR}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = rustix::fs::openat(staging, &sidecar, flags, Mode::from_raw_mode(0o600))
        .map_err(|error| explain("note the validator of", part, error))?;
    File::from(fd)
        .write_all(validator.as_bytes())
        .map_err(|error| StoreError::io("note the validator of", part, error))?;
    rustix::fs::renameat(staging, name, staging, part).map_err(|error| explain("keep", part, error))
}

/// Opens the part of a URI under a name of its own, with its validator.
pub(super) fn reopen(
    staging: &OwnedFd,
    part: &str,
    name: StagedName,
) -> Result<Option<(File, String)>, StoreError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let sidecar = format!("{part}{VALIDATOR}");
    let open = |name: &str| match rustix::fs::openat(staging, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(explain("open", name, error)),
    };
    let (Some(file), Some(validator_file)) = (open(part)?, open(&sidecar)?) else { return Ok(None) };
    let mut validator = String::new();
    validator_file
        .take(LONGEST_VALIDATOR)
        .read_to_string(&mut validator)
        .map_err(|error| StoreError::io("read the validator of", part, error))?;
    rustix::fs::renameat(staging, part, staging, name.to_string())
        .map_err(|error| explain("take up", part, error))?;
    Ok(Some((file, validator)))
}

/// Turns a part into a staged file again.
pub(super) fn finish(staging: &OwnedFd, part: &str, name: &str) -> Result<(), StoreError> {
    rustix::fs::renameat(staging, part, staging, name).map_err(|error| explain("finish", part, error))?;
    rustix::fs::unlinkat(staging, format!("{part}{VALIDATOR}"), AtFlags::empty())
        .map_err(|error| explain("finish", part, error))
}
