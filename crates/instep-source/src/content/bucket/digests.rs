//! The digests of objects: those that the service keeps, else those of the bytes.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    sync::Mutex,
    thread,
};

use instep_objects::{Bucket, BucketError, ListedObject};
use resourcesync::{Algorithm, Digest, Digests, Hasher};

use super::index::IndexedObject;

/// Bytes that are read at a time.
const PIECE: u64 = 8 << 20;

/// The reason why nothing is known of an object.
#[derive(Debug)]
pub(super) enum LookFault {
    /// It is not there any more.
    Gone,
    /// It is another one than was listed.
    Changed,
    /// The storage failed.
    Unreadable(String),
}

/// An object that was looked at.
type FetchedObject = (ListedObject, Result<IndexedObject, LookFault>);

/// Looks at objects, several at once, until `ends` does.
pub(super) fn fetched(
    bucket: &Bucket,
    objects: Vec<ListedObject>,
    hash: &[Algorithm],
    at_once: usize,
    ends: &dyn Fn() -> bool,
) -> Vec<FetchedObject> {
    let mut done = Vec::with_capacity(objects.len());
    let mut rest = objects.into_iter();
    loop {
        let part: Vec<ListedObject> = rest.by_ref().take(at_once).collect();
        if part.is_empty() || ends() {
            return done;
        }
        let found = Mutex::new(Vec::with_capacity(part.len()));
        thread::scope(|scope| {
            for object in part {
                let found = &found;
                scope.spawn(move || {
                    let looked = look(bucket, &object, hash);
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((object, looked));
                });
            }
        });
        done.extend(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

fn look(bucket: &Bucket, object: &ListedObject, hash: &[Algorithm]) -> Result<IndexedObject, LookFault> {
    let kept = bucket.kept_digests(&object.name).map_err(fault)?;
    let is_same = kept.etag.is_none() || object.etag.is_none() || kept.etag == object.etag;
    if !is_same {
        return Err(LookFault::Changed);
    }
    let sha256 = kept.sha256.and_then(|bytes| Digest::new(Algorithm::Sha256, &bytes));
    let md5 = kept.md5.and_then(|bytes| Digest::new(Algorithm::Md5, &bytes));
    let mut digests: Digests =
        [md5, sha256].into_iter().flatten().filter(|digest| hash.contains(&digest.algorithm)).collect();
    if hash.iter().any(|algorithm| digests.get(algorithm).is_none()) {
        digests = of_bytes(bucket, object, hash)?;
    }
    Ok(IndexedObject {
        path: object.name.clone(),
        length: object.length,
        etag: object.etag.clone(),
        modified: object.modified,
        digests,
        media_type: kept.media_type,
    })
}

/// Returns the digests of the bytes of an object, which must be as many as were listed.
fn of_bytes(bucket: &Bucket, object: &ListedObject, hash: &[Algorithm]) -> Result<Digests, LookFault> {
    let mut hasher = Hasher::new(hash);
    let length = read(bucket, &object.name, &mut |piece| {
        hasher.update(piece);
        Ok(())
    });
    match length {
        Ok(Ok(length)) if length == object.length => Ok(hasher.finish()),
        Ok(Ok(_)) => Err(LookFault::Changed),
        Ok(Err(error)) => Err(LookFault::Unreadable(error.to_string())),
        // It ended before the piece did that its length promised.
        Err(error) if error.is_short() => Err(LookFault::Changed),
        Err(error) => Err(fault(error)),
    }
}

/// Copies an object to a temporary file, read from its start.
///
/// # Errors
/// If the storage fails; within, if the disk does.
pub(super) fn to_file(bucket: &Bucket, name: &str) -> Result<io::Result<File>, BucketError> {
    let mut file = match tempfile::tempfile() {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let copied = read(bucket, name, &mut |piece| file.write_all(piece))?;
    Ok(copied.and_then(|_| file.rewind()).map(|()| file))
}

/// Reads an object a piece at a time. Returns its length, or the failure of who takes the pieces.
fn read(
    bucket: &Bucket,
    name: &str,
    take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<io::Result<u64>, BucketError> {
    let (mut piece, length) = bucket.begin(name, PIECE)?;
    let mut at = 0;
    loop {
        if let Err(error) = take(&piece) {
            return Ok(Err(error));
        }
        at += piece.len() as u64;
        if at >= length {
            return Ok(Ok(at));
        }
        piece = bucket.read(name, Some(at..length.min(at + PIECE)))?;
    }
}

fn fault(error: BucketError) -> LookFault {
    match error.is_missing() {
        true => LookFault::Gone,
        false => LookFault::Unreadable(error.to_string()),
    }
}
