//! Replaces a file by a new one as a whole.

use std::{
    fs::{self, Metadata, Permissions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown},
    path::Path,
};

use instep_store::parent_folder;

/// Writes a file in place of an earlier one: readers see one of the two, also if the disk is full. The new file gets the
/// permissions of the former one and, if possible, its owner. A symbolic link stays a link. Devices, pipes, and files in
/// a folder that this user may not write, such as that of a web server, are written in place.
///
/// Errors: neither the file nor its folder can be written, or the disk fails.
pub(crate) fn replace_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let former = fs::metadata(file).ok();
    if former.as_ref().is_some_and(|former| !former.is_file()) {
        return fs::write(file, bytes);
    }
    let place = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    match replace_whole(&place, bytes, former.as_ref()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && former.is_some() => {
            fs::write(place, bytes)
        }
        replaced => replaced,
    }
}

/// Writes a new file and gives it the name, the permissions and, if possible, the owner of the former one.
fn replace_whole(file: &Path, bytes: &[u8], former: Option<&Metadata>) -> io::Result<()> {
    let folder = parent_folder(file);
    // The mask of the process applies to these permissions.
    let mode = Permissions::from_mode(0o666);
    let mut unfinished = tempfile::Builder::new().permissions(mode).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    if let Some(former) = former {
        let _ = fchown(unfinished.as_file(), Some(former.uid()), Some(former.gid()));
        unfinished.as_file().set_permissions(former.permissions())?;
    }
    unfinished.as_file().sync_all()?;
    unfinished.persist(file).map_err(|error| error.error)?;
    Ok(())
}
