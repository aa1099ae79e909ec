//! The digests of objects: those that the service stores, otherwise those computed from the bytes.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    sync::Mutex,
    thread,
};

use instep_objects::{Bucket, BucketError, ListedObject, ObjectStart};
use resourcesync::{Algorithm, Digest, Digests, Hasher};

use super::index::IndexedObject;

/// Bytes that are read at a time.
const PIECE: u64 = 8 << 20;

/// The reason why nothing is known of an object.
#[derive(Debug)]
pub(super) enum InspectionFault {
    /// It was listed and no longer exists: the next listing shows that.
    Gone,
    /// It was replaced since the listing: the next publication has it.
    Changed,
    /// The storage refused to send it, or did not answer: it stays published as it was.
    Unreadable(BucketError),
}

/// An inspected object.
type FetchedObject = (ListedObject, Result<IndexedObject, InspectionFault>);

/// Inspects objects, several at once, until `ends` returns `true`.
pub(super) fn fetched(
    bucket: &Bucket,
    objects: Vec<ListedObject>,
    hash: &[Algorithm],
    at_once: usize,
    ends: &dyn Fn() -> bool,
) -> Vec<FetchedObject> {
    together(objects, at_once, ends, |object| look(bucket, object, hash))
}

/// Does work on items, several at once, until `ends` returns `true`. Returns the finished items, each with its
/// result.
pub(super) fn together<T: Send, R: Send>(
    items: Vec<T>,
    at_once: usize,
    ends: &dyn Fn() -> bool,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<(T, R)> {
    let mut done = Vec::with_capacity(items.len());
    let mut rest = items.into_iter();
    loop {
        let part: Vec<T> = rest.by_ref().take(at_once).collect();
        if part.is_empty() || ends() {
            return done;
        }
        let found = Mutex::new(Vec::with_capacity(part.len()));
        thread::scope(|scope| {
            for item in part {
                let (found, work) = (&found, &work);
                scope.spawn(move || {
                    let result = work(&item);
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((item, result));
                });
            }
        });
        done.extend(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

/// Finds the digests of an object with as few requests as possible: none, one for the stored digests, or one for the
/// bytes.
fn look(
    bucket: &Bucket,
    object: &ListedObject,
    hash: &[Algorithm],
) -> Result<IndexedObject, InspectionFault> {
    let listed = object.md5.and_then(|bytes| Digest::new(Algorithm::Md5, &bytes));
    let listed: Digests = listed.into_iter().collect();
    if has_all(&listed, hash) {
        return Ok(indexed(object, listed, None));
    }
    // A service that stores no SHA-256 can only provide an MD5.
    let may_be_kept = object.keeps_sha256 != Some(false) || !hash.contains(&Algorithm::Sha256);
    if may_be_kept {
        let kept = bucket.kept_digests(&object.name).map_err(fault)?;
        if is_another(object, kept.etag.as_deref()) {
            return Err(InspectionFault::Changed);
        }
        let sha256 = kept.sha256.and_then(|bytes| Digest::new(Algorithm::Sha256, &bytes));
        let md5 = kept.md5.and_then(|bytes| Digest::new(Algorithm::Md5, &bytes));
        let digests: Digests =
            [md5, sha256].into_iter().flatten().filter(|digest| hash.contains(&digest.algorithm)).collect();
        if has_all(&digests, hash) {
            return Ok(indexed(object, digests, kept.media_type));
        }
    }
    of_bytes(bucket, object, hash)
}

fn has_all(digests: &Digests, hash: &[Algorithm]) -> bool {
    hash.iter().all(|algorithm| digests.get(algorithm).is_some())
}

fn is_another(object: &ListedObject, etag: Option<&str>) -> bool {
    etag.zip(object.etag.as_deref()).is_some_and(|(found, listed)| found != listed)
}

fn indexed(object: &ListedObject, digests: Digests, media_type: Option<String>) -> IndexedObject {
    let ListedObject { name, length, etag, modified, .. } = object.clone();
    IndexedObject { path: name, length, etag, modified, digests, media_type }
}

/// Hashes the bytes of an object, which must still be the listed object.
fn of_bytes(
    bucket: &Bucket,
    object: &ListedObject,
    hash: &[Algorithm],
) -> Result<IndexedObject, InspectionFault> {
    let start = bucket.begin(&object.name, PIECE).map_err(fault)?;
    if start.length != object.length || is_another(object, start.etag.as_deref()) {
        return Err(InspectionFault::Changed);
    }
    let mut hasher = Hasher::new(hash);
    let mut take = |piece: &[u8]| {
        hasher.update(piece);
        Ok(())
    };
    // Only the storage can fail here.
    read(bucket, &object.name, &start, &mut take).map_err(fault)?.map_err(|_| InspectionFault::Changed)?;
    Ok(indexed(object, hasher.finish(), start.media_type))
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
    let start = bucket.begin(name, PIECE)?;
    let copied = read(bucket, name, &start, &mut |piece| file.write_all(piece))?;
    Ok(copied.and_then(|()| file.rewind()).map(|()| file))
}

/// Passes an object, whose start was read already, to `take` in pieces of the same object. The inner error is that of
/// `take`.
fn read(
    bucket: &Bucket,
    name: &str,
    start: &ObjectStart,
    take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<io::Result<()>, BucketError> {
    let (mut piece, mut at) = (start.bytes.clone(), 0);
    loop {
        if let Err(error) = take(&piece) {
            return Ok(Err(error));
        }
        at += piece.len() as u64;
        if at >= start.length {
            return Ok(Ok(()));
        }
        piece = bucket.read_on(name, start, at..start.length.min(at + PIECE))?;
    }
}

fn fault(error: BucketError) -> InspectionFault {
    match error {
        error if error.is_missing() => InspectionFault::Gone,
        // The object ended before its stated length.
        error if error.is_short() || error.is_replaced() => InspectionFault::Changed,
        error => InspectionFault::Unreadable(error),
    }
}
