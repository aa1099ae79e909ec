use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

use crate::Error;

/// The right to publish a Source: a `flock` that a killed holder frees at once.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a state folder, which is made where it is missing.
    pub(crate) fn take(state: &Path) -> Result<Self, Error> {
        DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(Error::write(state))?;
        let path = state.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(Error::write(&path))?;
        if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(Error::write(&path)(error.into()));
            }
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            let holder = if holder.is_empty() { "another process" } else { holder.trim_end() };
            return Err(Error::Locked { path: state.to_owned(), holder: holder.to_owned() });
        }
        let note = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "process {}", std::process::id())
        };
        note(&mut file).map_err(Error::write(&path))?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_publisher_is_refused_and_told_who_holds_the_source() {
        let state = tempfile::tempdir().unwrap();
        let held = Lock::take(state.path()).unwrap();
        let Err(Error::Locked { holder, .. }) = Lock::take(state.path()) else { panic!("not refused") };
        assert_eq!(holder, format!("process {}", std::process::id()));
        drop(held);
        Lock::take(state.path()).unwrap();
    }
}
