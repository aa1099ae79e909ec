use std::{
    os::fd::OwnedFd,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags},
    io::Errno,
};

use super::{StoreError, beneath::explain, partial};

/// Parts that nobody came back for.
const OLDEST_PART: Duration = Duration::from_secs(14 * 24 * 3_600);

/// Empties staging but for parts that can be resumed.
pub(super) fn sweep(staging: &OwnedFd) -> Result<(), StoreError> {
    for name in names_in(staging)? {
        let stale = !name.starts_with(partial::PREFIX) || is_old(staging, &name);
        if !stale {
            continue;
        }
        match rustix::fs::unlinkat(staging, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM) => remove_folder(staging, &name)?,
            Err(error) => return Err(explain("sweep", &name, error)),
        }
    }
    Ok(())
}

/// A folder that was to take a file's place; it holds nothing but that file's second name.
fn remove_folder(staging: &OwnedFd, name: &str) -> Result<(), StoreError> {
    let failed = |error| explain("sweep", name, error);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(staging, name, flags, Mode::empty()).map_err(failed)?;
    for inner in names_in(&folder)? {
        rustix::fs::unlinkat(&folder, &inner, AtFlags::empty()).map_err(failed)?;
    }
    rustix::fs::unlinkat(staging, name, AtFlags::REMOVEDIR).map_err(failed)
}

fn names_in(folder: &OwnedFd) -> Result<Vec<String>, StoreError> {
    let failed = |error| explain("list", "staging", error);
    let mut names = Vec::new();
    for entry in Dir::read_from(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        match entry.file_name().to_str() {
            Ok("." | "..") => {}
            Ok(name) => names.push(name.to_owned()),
            Err(_) => {}
        }
    }
    Ok(names)
}

fn is_old(staging: &OwnedFd, name: &str) -> bool {
    let Ok(stat) = rustix::fs::statat(staging, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let modified = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default());
    SystemTime::now().duration_since(modified).is_ok_and(|age| age > OLDEST_PART)
}
