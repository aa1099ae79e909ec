//! The objects below a prefix of a bucket, and the service's metadata of one object.

use std::ops::ControlFlow;

use futures_util::StreamExt as _;
use http::Method;
use object_store::{Error, ObjectMeta, ObjectStoreExt as _, path::Path};

use super::{Bucket, page::ListedPage};
use crate::{
    BucketError, KeptDigests, ListedObject,
    failure::{answered, failed},
    signed::{SignedRequest, SignedRequests, said, unsigned},
};

/// The most bytes of a page: 1,000 objects with keys of 1,024 bytes, each byte written with five.
const PAGE_BYTES: usize = 8 << 20;

/// The requested keys of a page.
#[derive(Clone, Copy, Debug)]
enum PageKeys {
    One,
    /// As many as the service gives at once.
    Many,
}

impl Bucket {
    /// Returns the key of an object below a name, or below the prefix itself if the name is empty; `None` if there is
    /// none. This also shows if the bucket exists and can be read.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn first_below(&self, name: &str) -> Result<Option<String>, BucketError> {
        let first = self.connection.wait(async {
            let below = self.path(name)?;
            let Some(signed) = &self.connection.signed else {
                let first = self.connection.store.list(Some(&below)).next().await.transpose();
                let first = first.map_err(|error| failed(&error, &self.place))?;
                return Ok(first.map(|found| found.location.to_string()));
            };
            let page = self.page(signed, &below, PageKeys::One, None).await?;
            Ok(page.objects.into_iter().next().map(|object| object.name))
        })?;
        self.connection.note_answer();
        Ok(first)
    }

    /// Checks that the bucket exists and can be read. If it answered another user shortly before, this sends no request.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn check(&self) -> Result<(), BucketError> {
        if self.connection.has_answered() { Ok(()) } else { self.first_below("").map(drop) }
    }

    /// Passes all objects below the prefix to `each`, with one page of the listing in memory at a time, until it
    /// breaks. A name is the part of the key after the prefix, with any characters: some objects cannot be read by
    /// their name.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn list(
        &self,
        each: &mut (dyn FnMut(ListedObject) -> ControlFlow<()> + Send),
    ) -> Result<(), BucketError> {
        self.list_below("", each)
    }

    /// Passes the objects below a name to `each`, as [`Bucket::list`] does, each with its name below the prefix.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn list_below(
        &self,
        name: &str,
        each: &mut (dyn FnMut(ListedObject) -> ControlFlow<()> + Send),
    ) -> Result<(), BucketError> {
        let below = self.path(name)?;
        let Some(signed) = &self.connection.signed else { return self.list_opened(&below, each) };
        let mut token: Option<String> = None;
        loop {
            let mut page = self.connection.wait(self.page(signed, &below, PageKeys::Many, token.clone()))?;
            for mut object in std::mem::take(&mut page.objects) {
                object.name = self.name_of(&object.name).to_owned();
                if each(object).is_break() {
                    return Ok(());
                }
            }
            token = page.next_after(token.as_deref()).map_err(|what| self.unreadable(&what))?;
            if token.is_none() {
                return Ok(());
            }
        }
    }

    /// Lists a store that the application has opened. The library returns only objects whose names it can express.
    fn list_opened(
        &self,
        below: &Path,
        each: &mut (dyn FnMut(ListedObject) -> ControlFlow<()> + Send),
    ) -> Result<(), BucketError> {
        self.connection.wait(async {
            let mut found = self.connection.store.list(Some(below));
            while let Some(found) =
                found.next().await.transpose().map_err(|error| failed(&error, &self.place))?
            {
                if each(self.listed_as(found)).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Returns the entry of one object, as in a listing; `None` if there is none.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn listed(&self, name: &str) -> Result<Option<ListedObject>, BucketError> {
        self.connection.wait(async {
            match self.connection.store.head(&self.path(name)?).await {
                Ok(found) => Ok(Some(self.listed_as(found))),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(failed(&error, &self.place)),
            }
        })
    }

    /// Returns the digests of an object that the service keeps itself; none for a store that the application has opened.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn kept_digests(&self, name: &str) -> Result<KeptDigests, BucketError> {
        let Some(signed) = &self.connection.signed else { return Ok(KeptDigests::default()) };
        self.connection.wait(async { signed.digests(&self.path(name)?, &self.place).await })
    }

    /// Requests a page of the keys below a path, which is a complete segment of them.
    async fn page(
        &self,
        signed: &SignedRequests,
        below: &Path,
        keys: PageKeys,
        token: Option<String>,
    ) -> Result<ListedPage, BucketError> {
        let mut query = vec![("list-type", "2".to_owned())];
        if !below.as_ref().is_empty() {
            query.push(("prefix", format!("{below}/")));
        }
        if let PageKeys::One = keys {
            query.push(("max-keys", "1".to_owned()));
        }
        query.extend(token.map(|token| ("continuation-token", token)));
        let request = SignedRequest { method: Method::GET, path: &Path::ROOT, query, header: None };
        let mut attempts = signed.client.attempts();
        let (status, text) = loop {
            let mut answer = signed.send(&request, &self.place).await?;
            match answer.body.read_up_to(PAGE_BYTES).await {
                Ok(text) => break (answer.status, text),
                // A page whose body breaks off is requested again, like one without an answer.
                Err(error) => attempts.again(unsigned(error)).await.map_err(said)?,
            }
        };
        let text = text.ok_or_else(|| self.unreadable("it is too large"))?;
        let text = std::str::from_utf8(&text).map_err(|error| self.unreadable(&error.to_string()))?;
        if !status.is_success() {
            return Err(answered(status, text, &self.place));
        }
        ListedPage::parse(text).map_err(|what| self.unreadable(&what))
    }

    fn unreadable(&self, what: &str) -> BucketError {
        BucketError::new(format!("the listing of the bucket {} cannot be read: {what}", self.place.bucket()))
    }

    fn listed_as(&self, found: ObjectMeta) -> ListedObject {
        ListedObject {
            name: self.name_of(found.location.as_ref()).to_owned(),
            length: found.size,
            etag: found.e_tag.map(|etag| etag.trim_matches('"').to_owned()),
            modified: found.last_modified.timestamp_micros(),
            keeps_sha256: None,
            md5: None,
        }
    }

    /// Returns the part of a key after the prefix of the place.
    fn name_of<'k>(&self, key: &'k str) -> &'k str {
        let prefix = self.place.prefix();
        let below = key.strip_prefix(prefix).and_then(|rest| match prefix {
            "" => Some(rest),
            _ => rest.strip_prefix('/'),
        });
        below.unwrap_or(key)
    }
}
