//! The right to publish a Source.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use instep_store::{Lock, LockError, RootFolder};

use crate::{Content, Error, PublishOptions};

/// The name of the folder of the state, unless the operator names another one.
const USUAL_NAME: &str = ".instep";

/// Creates the folder of a state if it does not exist, and takes its lock.
///
/// A folder with the usual name lies among the resources, where others may be able to write: a link placed there is
/// not followed. The way to any other folder is the operator's.
pub(super) fn take(state: &Path) -> Result<Lock, Error> {
    let folder = open(state).map_err(Error::write(state))?;
    Lock::take(&folder, &format!("process {}", std::process::id())).map_err(|error| match error {
        LockError::Held { holder } => Error::Locked { path: state.to_owned(), holder },
        LockError::Io(source) => Error::Write { path: state.join(Lock::NAME), source },
        other => Error::Write { path: state.join(Lock::NAME), source: io::Error::other(other) },
    })
}

/// Refuses a folder of the state that is one of the resources: the catalogue would be published.
pub(super) fn refuse_content(options: &PublishOptions) -> Result<(), Error> {
    let Ok(state) = options.state.canonicalize() else { return Ok(()) };
    let is_state = |content: &Content| match content {
        Content::Folder { root, .. } => root.canonicalize().is_ok_and(|root| root == state),
        _ => false,
    };
    if options.sets.iter().flat_map(|set| &set.content).any(is_state) {
        let what = format!("{} has the resources: name another folder for the state", state.display());
        return Err(Error::option("state", what));
    }
    Ok(())
}

fn open(state: &Path) -> io::Result<RootFolder> {
    if state.file_name().is_some_and(|name| name == USUAL_NAME) {
        let above = state.parent().filter(|above| !above.as_os_str().is_empty());
        let root = RootFolder::open_or_make(&above.map_or_else(|| PathBuf::from("."), Path::to_owned))?;
        root.make_folder(USUAL_NAME, 0o700, &mut |_| {})?;
        return root.root(USUAL_NAME);
    }
    create_private(state)?;
    RootFolder::open(state)
}

/// Creates a folder that only its owner can read, if it does not exist.
///
/// Missing folders above it get the usual permissions: documents that a web server must read often lie beside the state.
fn create_private(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        fs::create_dir_all(above)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::{refuse_content, take};
    use crate::{Error, ErrorKind, PublishOptions};

    #[test]
    fn a_second_publisher_is_refused_and_told_who_holds_the_source() {
        let state = tempfile::tempdir().unwrap();
        let held = take(state.path()).unwrap();
        let Err(Error::Locked { holder, .. }) = take(state.path()) else { panic!("not refused") };
        assert_eq!(holder, format!("process {}", std::process::id()));
        drop(held);
        take(state.path()).unwrap();
    }

    #[test]
    fn c18_the_folder_of_the_resources_is_no_state() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.com/");
        refuse_content(&options).unwrap();
        options.state = folder.path().join(".");
        assert_eq!(refuse_content(&options).unwrap_err().kind(), ErrorKind::Usage);
    }

    #[test]
    fn c14_a_planted_link_is_no_state_and_an_operators_link_is() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        for name in [".instep", "state"] {
            symlink(&elsewhere, folder.path().join(name)).unwrap();
        }
        assert!(matches!(take(&folder.path().join(".instep")), Err(Error::Write { .. })));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        take(&folder.path().join("state")).unwrap();
    }

    #[test]
    fn o956_the_folder_of_a_state_is_private_and_the_new_folders_above_it_are_as_usual() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
        fs::create_dir(folder.path().join("usual")).unwrap();
        take(&folder.path().join("source/catalogue")).unwrap();
        assert_eq!(mode("source"), mode("usual"));
        assert_eq!(mode("source/catalogue"), 0o700);
    }
}
