//! The objects below a prefix of a bucket, and the digests that the service knows of one.

use std::ops::ControlFlow;

use futures_util::StreamExt as _;

use super::Bucket;
use crate::{BucketError, KeptDigests, ListedObject, failure::failed};

impl Bucket {
    /// Returns the name of an object below a name, that of the prefix itself if it is empty; `None` if there is none. It
    /// shows too if the bucket is there, and if it can be read.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn first_below(&self, name: &str) -> Result<Option<String>, BucketError> {
        self.wait(async {
            let below = self.path(name)?;
            let first = self.store.list(Some(&below)).next().await.transpose();
            let first = first.map_err(|error| failed(&error, &self.place))?;
            Ok(first.map(|found| found.location.to_string()))
        })
    }

    /// Passes all objects below the prefix to `each`, a page of the listing in memory at a time, until it breaks.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn list(
        &self,
        each: &mut (dyn FnMut(ListedObject) -> ControlFlow<()> + Send),
    ) -> Result<(), BucketError> {
        let prefix = self.place.prefix();
        self.wait(async {
            let below = self.path("")?;
            let mut found = self.store.list(Some(&below));
            while let Some(found) =
                found.next().await.transpose().map_err(|error| failed(&error, &self.place))?
            {
                let name = found.location.as_ref();
                let name = name.strip_prefix(prefix).unwrap_or(name).trim_start_matches('/').to_owned();
                let etag = found.e_tag.map(|etag| etag.trim_matches('"').to_owned());
                let modified = found.last_modified.timestamp_micros();
                if each(ListedObject { name, length: found.size, etag, modified }).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Returns the digests of an object that the service keeps itself; none for a store that the application has opened.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn kept_digests(&self, name: &str) -> Result<KeptDigests, BucketError> {
        let Some(digests) = &self.digests else { return Ok(KeptDigests::default()) };
        self.wait(async { digests.of(&self.path(name)?, &self.place).await })
    }
}
