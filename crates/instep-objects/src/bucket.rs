//! An open bucket: objects are put, read, copied and removed. Calls block.

mod connection;
mod listing;
mod page;

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};
use object_store::{
    Attribute, Attributes, Error, GetOptions, ObjectStoreExt, PutMultipartOptions, PutPayload, path::Path,
};

use crate::{
    BucketError, NewObject, ObjectMark, ObjectPlace, ObjectStart, connector::AT_ONCE, error::ObjectFault,
    failure::failed, kept::media_type,
};
use connection::BucketConnection;

/// Objects up to this size are put with one request, larger ones in parts of it. Each request holds one in memory.
const PART: u64 = 8 << 20;

/// Parts that an object may have.
const MOST_PARTS: u64 = 10_000;

/// A bucket, with the prefix below which names are.
#[derive(Debug)]
pub struct Bucket {
    connection: Arc<BucketConnection>,
    place: ObjectPlace,
}

/// Opens the file of an object that is put.
type OpenContent<'r> = &'r (dyn Fn(&str) -> io::Result<File> + Sync);

impl Bucket {
    /// Opens a place. Sends no request.
    ///
    /// # Errors
    /// If the environment or the files of AWS tools have settings that cannot be used.
    pub fn open(place: &ObjectPlace) -> Result<Self, BucketError> {
        Ok(Self { connection: BucketConnection::to(place)?, place: place.clone() })
    }

    /// Returns the place.
    pub fn place(&self) -> &ObjectPlace {
        &self.place
    }

    /// Returns those of the names under which there is an object without a mark.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn foreign(&self, names: &[&str], mark: &ObjectMark) -> Result<Vec<String>, BucketError> {
        let attribute = Attribute::Metadata(mark.name.into());
        self.connection.wait(async {
            let mut foreign = Vec::new();
            for name in names {
                // A GET, because the answer to a HEAD has no error text.
                let found = self.connection.store.get_opts(&self.path(name)?, GetOptions::default()).await;
                let is_foreign = match found.map_err(|error| failed(&error, &self.place)) {
                    Ok(found) => found.attributes.get(&attribute).is_none_or(|found| **found != *mark.value),
                    Err(error) if error.is_missing() => false,
                    Err(error) => return Err(error),
                };
                if is_foreign {
                    foreign.push((*name).to_owned());
                }
            }
            Ok(foreign)
        })
    }

    /// Puts files under the names of objects, several at once, each completely or not at all. Returns their bytes.
    ///
    /// # Errors
    /// If a file cannot be read, or the storage fails; some objects may then exist.
    pub fn put(&self, objects: &[NewObject], read: OpenContent<'_>) -> Result<u64, BucketError> {
        let puts = objects.iter().map(|object| self.put_one(object, read).boxed());
        self.connection.wait(
            stream::iter(puts).buffer_unordered(AT_ONCE).try_fold(0, async |all, one| Ok(all + one)).boxed(),
        )
    }

    /// Removes the objects under some names; one that is not there is removed already.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn remove(&self, names: &[&str]) -> Result<(), BucketError> {
        let remove = async |name: &str| match self.connection.store.delete(&self.path(name)?).await {
            Err(Error::NotFound { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(failed(&error, &self.place)),
        };
        let removals = names.iter().map(|name| remove(name).boxed());
        self.connection.wait(stream::iter(removals).buffer_unordered(AT_ONCE).try_collect().boxed())
    }

    /// Reads an object, or a part of it, into memory.
    ///
    /// # Errors
    /// If there is no such object, it ends before the part does, or the storage fails.
    pub fn read(&self, name: &str, part: Option<Range<u64>>) -> Result<Bytes, BucketError> {
        self.read_part(name, part, None)
    }

    /// Reads a part of the object whose start was read before.
    ///
    /// # Errors
    /// As [`Bucket::read`], and if it was replaced since.
    pub fn read_on(&self, name: &str, start: &ObjectStart, part: Range<u64>) -> Result<Bytes, BucketError> {
        self.read_part(name, Some(part), start.etag.as_deref())
    }

    fn read_part(
        &self,
        name: &str,
        part: Option<Range<u64>>,
        etag: Option<&str>,
    ) -> Result<Bytes, BucketError> {
        let end = part.as_ref().map(|part| part.end);
        let has = |length: u64| end.is_none_or(|end| length >= end);
        match self.get(name, part, etag) {
            Ok(read) if has(read.length) => Ok(read.bytes),
            Err(error) if error.is_missing() || error.is_replaced() => Err(error),
            // A service refuses a part that begins after the end of the object; any other failure is reported as it is.
            Err(error) if self.length(name)?.is_none_or(has) => Err(error),
            _ => Err(BucketError::of_object(
                ObjectFault::Short,
                format!("the object {name} ends before its part does"),
            )),
        }
    }

    /// Reads at most this many bytes from the start of an object.
    ///
    /// # Errors
    /// If there is no such object, or the storage fails.
    pub fn begin(&self, name: &str, most: u64) -> Result<ObjectStart, BucketError> {
        match self.get(name, Some(0..most), None) {
            // A service refuses every part of an empty object, so an empty one is read as a whole.
            Err(error) if !error.is_missing() && self.length(name)? == Some(0) => self.get(name, None, None),
            read => read,
        }
    }

    /// Returns an object or a part of it, if it has the entity tag.
    fn get(
        &self,
        name: &str,
        part: Option<Range<u64>>,
        etag: Option<&str>,
    ) -> Result<ObjectStart, BucketError> {
        let if_match = etag.map(|etag| format!("\"{etag}\""));
        let options = GetOptions { range: part.map(Into::into), if_match, ..GetOptions::default() };
        self.connection.wait(async {
            let found = self.connection.store.get_opts(&self.path(name)?, options).await;
            let found = found.map_err(|error| failed(&error, &self.place))?;
            let length = found.meta.size;
            let etag = found.meta.e_tag.as_deref().map(|etag| etag.trim_matches('"').to_owned());
            let media_type =
                found.attributes.get(&Attribute::ContentType).and_then(|value| media_type(value));
            let bytes = found.bytes().await.map_err(|error| failed(&error, &self.place))?;
            Ok(ObjectStart { bytes, length, etag, media_type })
        })
    }

    /// Returns the bytes that an object has; `None` if there is no such object.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn length(&self, name: &str) -> Result<Option<u64>, BucketError> {
        let found = self.connection.wait(async {
            self.connection.store.head(&self.path(name)?).await.map_err(|error| failed(&error, &self.place))
        });
        match found {
            Ok(found) => Ok(Some(found.size)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Copies an object within the bucket, replacing the object with the other name.
    ///
    /// # Errors
    /// If there is no such object, or the storage fails.
    pub fn copy(&self, from: &str, to: &str) -> Result<(), BucketError> {
        self.connection.wait(async {
            let copied = self.connection.store.copy(&self.path(from)?, &self.path(to)?).await;
            copied.map_err(|error| failed(&error, &self.place))
        })
    }

    fn path(&self, name: &str) -> Result<Path, BucketError> {
        let prefix = self.place.prefix();
        let separator = if prefix.is_empty() || name.is_empty() { "" } else { "/" };
        let key = format!("{prefix}{separator}{name}");
        let wrong = |why: &str| BucketError::new(format!("{name:?} cannot be the name of an object: {why}"));
        let path = Path::parse(&key).map_err(|error| wrong(&error.to_string()))?;
        // The library removes slashes at both ends of a key, which would name another object.
        if path.as_ref() == key { Ok(path) } else { Err(wrong("it begins or ends with a slash")) }
    }

    async fn put_one(&self, object: &NewObject, read: OpenContent<'_>) -> Result<u64, BucketError> {
        let name = &object.name;
        let unread = |error: io::Error| BucketError::new(format!("cannot read {name}: {error}"));
        let mut file = read(name).map_err(unread)?;
        let length = file.metadata().map_err(unread)?.len();
        let (attributes, path) = (attributes(object), self.path(name)?);
        let failure = |error: Error| failed(&error, &self.place);
        if length <= PART {
            let bytes = piece(&mut file, PART).map_err(unread)?;
            let put = self.connection.store.put_opts(&path, bytes.into(), attributes.into()).await;
            return put.map(|_| length).map_err(failure);
        }
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let mut upload = self.connection.store.put_multipart_opts(&path, options).await.map_err(failure)?;
        let most = PART.max(length.div_ceil(MOST_PARTS));
        let sent: BoxFuture<'_, Result<(), BucketError>> = async {
            loop {
                let bytes = piece(&mut file, most).map_err(unread)?;
                if bytes.is_empty() {
                    break;
                }
                upload.put_part(PutPayload::from(bytes)).await.map_err(failure)?;
            }
            upload.complete().await.map(drop).map_err(failure)
        }
        .boxed();
        let sent = sent.await;
        if sent.is_err() {
            // The parts that were uploaded cost money until they are removed. A failure is ignored: most buckets have a
            // rule that removes incomplete uploads.
            let _ = upload.abort().await;
        }
        sent.map(|()| length)
    }
}

fn attributes(object: &NewObject) -> Attributes {
    let NewObject { media_type, cache_control, mark, .. } = object.clone();
    let mark = mark.map(|mark| (Attribute::Metadata(mark.name.into()), mark.value));
    let media_type = media_type.map(|media_type| (Attribute::ContentType, media_type));
    let cache_control = cache_control.map(|cache_control| (Attribute::CacheControl, cache_control));
    media_type.into_iter().chain(cache_control).chain(mark).collect()
}

/// Returns the next bytes of a file, up to `most`.
fn piece(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.by_ref().take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
