//! Names that a file system does not distinguish (D7).

use std::io;

use instep_store::Staging;
use rustix::fs::{AtFlags, Mode, OFlags};

/// Returns `true` if the file system treats `probe-é` and `PROBE-é`, or a composed é and its parts, as the same name. A
/// file is created to find this out, because it depends on the settings of the folder, and not only on the kind of file
/// system.
pub(super) fn folds_names(staging: &Staging) -> io::Result<bool> {
    const NAME: &str = "probe-\u{e9}";
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(staging, NAME, flags, Mode::from_raw_mode(0o600))?;
    let folds = ["PROBE-\u{e9}", "probe-e\u{301}"]
        .iter()
        .any(|other| rustix::fs::statat(staging, *other, AtFlags::SYMLINK_NOFOLLOW).is_ok());
    rustix::fs::unlinkat(staging, NAME, AtFlags::empty())?;
    Ok(folds)
}
