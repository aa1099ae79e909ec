use std::os::fd::OwnedFd;

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::{StoreError, beneath::explain};

/// A folder of ours, made where it is missing; a link in its place is refused.
pub(super) fn own_folder(at: &OwnedFd, name: &str) -> Result<OwnedFd, StoreError> {
    match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(explain("make", name, error)),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).map_err(|error| explain("open", name, error))
}

/// Whether the file system takes `probe-a` for `PROBE-A`, or a composed é for its parts.
pub(super) fn probe_folding(staging: &OwnedFd) -> Result<bool, StoreError> {
    const NAME: &str = "probe-\u{e9}";
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(staging, NAME, flags, Mode::from_raw_mode(0o600))
        .map_err(|error| explain("probe", NAME, error))?;
    let folds = ["PROBE-\u{e9}", "probe-e\u{301}"]
        .iter()
        .any(|other| rustix::fs::statat(staging, *other, AtFlags::SYMLINK_NOFOLLOW).is_ok());
    rustix::fs::unlinkat(staging, NAME, AtFlags::empty()).map_err(|error| explain("probe", NAME, error))?;
    Ok(folds)
}
