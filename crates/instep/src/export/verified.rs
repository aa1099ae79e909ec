//! Copies the bytes of a resource and compares their digests with the copy's record.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use anyhow::Context;
use instep_destination::HeldResource;
use instep_store::next_bytes;
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
    while let Some(part) = next_bytes(from, &mut buffer).map_err(CopyFault::Read)? {
        hasher.update(part);
        to.write_all(part).map_err(CopyFault::Write)?;
        bytes += part.len() as u64;
    }
    Ok(bytes)
}
