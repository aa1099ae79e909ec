//! A copy as objects under the paths of its resources, for people and programs that browse buckets.

use std::{fs::File, io::Seek as _, path::Path};

use anyhow::{Context, anyhow};
use instep_destination::HeldResource;
use instep_objects::{Bucket, BucketError, NewObject, ObjectPlace};

use super::{Bytes, ExportForm, Exported, verified::copy_verified};
use crate::exit::Exit;

/// The most objects that are put together.
const TOGETHER: usize = 256;
/// The bytes from which on the waiting objects are put, even if they are fewer.
const MOST_BYTES: u64 = 256 << 20;

/// The most bytes of the key of an object, in S3.
const LONGEST_KEY: usize = 1_024;

/// The objects of an export, with those that wait to be put together.
#[derive(Debug)]
pub(crate) struct ObjectWriter {
    bucket: Bucket,
    waiting: Vec<(NewObject, File)>,
    bytes: u64,
}

impl ObjectWriter {
    /// Opens a place in object storage.
    ///
    /// Errors: the place has objects, or cannot be used.
    pub(crate) fn begin(place: &ObjectPlace) -> anyhow::Result<Self> {
        let failed = |error: BucketError| failure(place, &error);
        let bucket = Bucket::open(place).map_err(failed)?;
        if let Some(first) = bucket.first_below("").map_err(failed)? {
            let what = format!("{place} has objects, {first} among them; name a prefix that has none");
            return Err(anyhow::Error::new(Exit::Refused).context(what));
        }
        Ok(Self { bucket, waiting: Vec::new(), bytes: 0 })
    }

    fn put(&mut self) -> anyhow::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if waiting.is_empty() {
            return Ok(());
        }
        let objects: Vec<NewObject> = waiting.iter().map(|(object, _)| object.clone()).collect();
        let open = |name: &str| {
            let found = waiting.iter().find(|(object, _)| object.name == name);
            found.ok_or(std::io::ErrorKind::NotFound)?.1.try_clone()
        };
        self.bucket.put(&objects, &open).map_err(|error| failure(self.bucket.place(), &error))?;
        Ok(())
    }
}

fn failure(place: &ObjectPlace, error: &BucketError) -> anyhow::Error {
    anyhow::Error::new(Exit::Storage).context(anyhow!("Cannot write {place}: {error}"))
}

impl ExportForm for ObjectWriter {
    fn add(
        &mut self,
        resource: &Exported,
        held: &HeldResource,
        bytes: Bytes,
    ) -> anyhow::Result<Option<String>> {
        let key = resource.path.as_str();
        if self.bucket.place().prefix().len() + 1 + key.len() > LONGEST_KEY {
            return Ok(Some(format!("its path is longer than the {LONGEST_KEY} bytes of a key")));
        }
        let mut file = tempfile::tempfile().context("Cannot write a temporary file")?;
        let length = match copy_verified(held, bytes, &mut file, Path::new(key))? {
            Ok((length, _)) => length,
            Err(what) => return Ok(Some(what)),
        };
        file.rewind()?;
        let mut object = NewObject::new(key);
        object.media_type = held.metadata.media_type.as_ref().map(|kind| kind.as_str().to_owned());
        self.waiting.push((object, file));
        self.bytes += length;
        if self.waiting.len() == TOGETHER || self.bytes >= MOST_BYTES {
            self.put()?;
        }
        Ok(None)
    }

    fn finish(mut self: Box<Self>, _source: Option<&str>) -> anyhow::Result<()> {
        self.put()
    }
}
