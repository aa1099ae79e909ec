//! Copies the bytes of a resource and compares their digests with the copy's record.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use anyhow::Context;
use instep_destination::HeldResource;
use resourcesync::{Algorithm, Digests, Hasher};

use super::Bytes;

/// The number of bytes that are copied at a time.
pub(super) const STEP: usize = 256 << 10;

/// The length and the digests of copied bytes, always with SHA-256; or the reason why they cannot be used.
pub(super) type CopiedBytes = Result<(u64, Digests), String>;

/// Copies the bytes of a held resource to a file. A fault of the bytes is returned as a value, because it affects only
/// this resource; the file then has some of them.
///
/// Errors: the file cannot be written.
pub(super) fn copy_verified(
    held: &HeldResource,
    bytes: Bytes,
    to: &mut dyn Write,
    name: &Path,
) -> anyhow::Result<CopiedBytes> {
    let mut from = match bytes {
        Ok(from) => from,
        Err(error) => return Ok(Err(format!("its bytes cannot be read: {:#}", anyhow::Error::from(error)))),
    };
    let mut algorithms = vec![Algorithm::Sha256];
    let recorded = held.metadata.digests.iter().map(|digest| digest.algorithm.clone());
    algorithms.extend(recorded.filter(|algorithm| *algorithm != Algorithm::Sha256));
    let mut hasher = Hasher::new(&algorithms);
    let length = match copy(&mut *from, to, &mut hasher) {
        Ok(length) => length,
        Err(CopyFault::Read(error)) => return Ok(Err(format!("its bytes cannot be read: {error}"))),
        Err(CopyFault::Write(error)) => {
            return Err(error).with_context(|| format!("Cannot write {}", name.display()));
        }
    };
    let found = hasher.finish();
    if held.metadata.digests.agrees_with(&found) == Some(false) {
        let what = "its bytes differ from the copy's record; instep sync --repair fetches it again";
        return Ok(Err(what.to_owned()));
    }
    Ok(Ok((length, found)))
}

/// The side on which copying failed.
enum CopyFault {
    Read(io::Error),
    Write(io::Error),
}

fn copy(from: &mut dyn Read, to: &mut dyn Write, hasher: &mut Hasher) -> Result<u64, CopyFault> {
    let (mut buffer, mut bytes) = (vec![0; STEP], 0);
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyFault::Read(error)),
        };
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read]).map_err(CopyFault::Write)?;
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that a signal interrupts before each part.
    struct Interrupted<'a> {
        bytes: &'a [u8],
        is_next: bool,
    }

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_next = !self.is_next;
            if self.is_next { Err(io::ErrorKind::Interrupted.into()) } else { self.bytes.read(buffer) }
        }
    }

    #[test]
    fn o608_a_resource_whose_read_a_signal_interrupts_is_exported() {
        let mut from = Interrupted { bytes: b"text", is_next: false };
        let mut to = Vec::new();
        let length = copy(&mut from, &mut to, &mut Hasher::new(&[Algorithm::Sha256]));
        assert!(matches!(length, Ok(4)));
        assert_eq!(to, b"text");
    }
}
