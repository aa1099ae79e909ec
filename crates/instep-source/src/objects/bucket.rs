//! A bucket that is open: objects are put, looked at and removed. Blocks; each use has connections of its own.

use std::{
    fs::File,
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{
    Attribute, Attributes, Error, GetOptions, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutPayload,
    RetryConfig, aws::AmazonS3Builder, path::Path,
};
use tokio::runtime::{Builder, Runtime};

use super::{
    ObjectPlace,
    connector::{AT_ONCE, ObjectRequests},
    failure::sentence,
};
use crate::render::{cache_control, media_type};

/// Objects up to this size are put with one request, larger ones in parts of it. Each request holds one in memory.
const PART: u64 = 8 << 20;

/// Parts that an object may have.
const MOST_PARTS: u64 = 10_000;

/// Attempts after the first one, and the time for all of them.
const RETRIES: usize = 5;
const RETRY_TIME: Duration = Duration::from_secs(60);

/// The metadata by which a Source knows the objects that it wrote.
const MARK: &str = "instep-source";

/// A bucket, with the prefix below which names are.
#[derive(Debug)]
pub(crate) struct Bucket {
    runtime: Runtime,
    store: Arc<dyn ObjectStore>,
    place: ObjectPlace,
    mark: String,
}

impl Bucket {
    /// Opens a place for a Source, whose objects have `mark`. Sends no request.
    ///
    /// # Errors
    /// If the environment has settings that cannot be used, in one line.
    pub(crate) fn open(place: &ObjectPlace, mark: &str) -> Result<Self, String> {
        let store = match place.store() {
            Some(store) => store,
            None => Arc::new(connect(place)?),
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime for requests: {error}"))?;
        Ok(Self { runtime, store, place: place.clone(), mark: mark.to_owned() })
    }

    /// Returns those of the names under which there is an object that this Source did not write.
    ///
    /// # Errors
    /// If the storage fails, in one line.
    pub(crate) fn foreign(&self, names: &[&str]) -> Result<Vec<String>, String> {
        let mark = Attribute::Metadata(MARK.into());
        let is_foreign =
            async |name: &str| match self.store.get_opts(&self.path(name), GetOptions::default()).await {
                // A GET, as the answer to a HEAD does not say what is wrong.
                Ok(found) => Ok(found.attributes.get(&mark).is_none_or(|found| found.as_ref() != self.mark)),
                Err(Error::NotFound { source, .. }) if !source.to_string().contains("NoSuchBucket") => {
                    Ok(false)
                }
                Err(error) => Err(error),
            };
        let found = self.runtime.block_on(async {
            let mut foreign = Vec::new();
            for name in names {
                if is_foreign(name).await? {
                    foreign.push((*name).to_owned());
                }
            }
            Ok(foreign)
        });
        found.map_err(|error| sentence(&error, &self.place))
    }

    /// Puts files under their names, several at once, each whole or not at all. Returns their bytes.
    ///
    /// # Errors
    /// If a file cannot be read, or the storage fails, in one line; some may be there then.
    pub(crate) fn put(&self, names: &[&str], read: &dyn Fn(&str) -> io::Result<File>) -> Result<u64, String> {
        let puts = names.iter().map(|name| async move {
            let file = read(name).map_err(|error| format!("cannot read {name}: {error}"))?;
            self.put_file(name, file).await
        });
        self.runtime.block_on(
            stream::iter(puts).buffer_unordered(AT_ONCE).try_fold(0, async |all, one| Ok(all + one)),
        )
    }

    /// Removes the objects under some names; one that is not there is removed already.
    ///
    /// # Errors
    /// If the storage fails, in one line.
    pub(crate) fn remove(&self, names: &[&str]) -> Result<(), String> {
        let removals = names.iter().map(|name| async move {
            match self.store.delete(&self.path(name)).await {
                Err(Error::NotFound { .. }) | Ok(()) => Ok(()),
                Err(error) => Err(sentence(&error, &self.place)),
            }
        });
        self.runtime.block_on(stream::iter(removals).buffer_unordered(AT_ONCE).try_collect())
    }

    fn path(&self, name: &str) -> Path {
        Path::from(self.place.prefix()).parts().chain(Path::from(name).parts()).collect()
    }

    async fn put_file(&self, name: &str, mut file: File) -> Result<u64, String> {
        let unread = |error: io::Error| format!("cannot read {name}: {error}");
        let length = file.metadata().map_err(unread)?.len();
        let attributes = Attributes::from_iter([
            (Attribute::ContentType, media_type(name.as_bytes()).to_owned()),
            (Attribute::CacheControl, cache_control(name.as_bytes()).to_owned()),
            (Attribute::Metadata(MARK.into()), self.mark.clone()),
        ]);
        let path = self.path(name);
        if length <= PART {
            let bytes = piece(&mut file, PART).map_err(unread)?;
            let put = self.store.put_opts(&path, bytes.into(), attributes.into()).await;
            return put.map(|_| length).map_err(|error| sentence(&error, &self.place));
        }
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let failed = |error: Error| sentence(&error, &self.place);
        let mut upload = self.store.put_multipart_opts(&path, options).await.map_err(failed)?;
        let most = PART.max(length.div_ceil(MOST_PARTS));
        let sent = async {
            loop {
                let bytes = piece(&mut file, most).map_err(unread)?;
                if bytes.is_empty() {
                    break;
                }
                upload.put_part(PutPayload::from(bytes)).await.map_err(failed)?;
            }
            upload.complete().await.map_err(failed)
        };
        let sent = sent.await;
        if sent.is_err() {
            // Parts that stay cost space; the operator's rules for incomplete uploads take them away too.
            let _ = upload.abort().await;
        }
        sent.map(|_| length)
    }
}

/// Returns the next bytes of a file, up to `most`.
fn piece(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.by_ref().take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the store of a bucket, with the settings of the environment.
fn connect(place: &ObjectPlace) -> Result<impl ObjectStore, String> {
    let environment =
        std::env::vars().filter(|(name, _)| name.starts_with("AWS_ENDPOINT")).map(|(_, value)| value);
    let endpoints: Vec<_> = place.endpoint().map(str::to_owned).into_iter().chain(environment).collect();
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(place.bucket())
        // Not every service knows requests that remove many.
        .with_disable_bulk_delete(true)
        .with_http_connector(ObjectRequests::new().map_err(|error| error.to_string())?)
        .with_retry(RetryConfig {
            max_retries: RETRIES,
            retry_timeout: RETRY_TIME,
            ..RetryConfig::default()
        });
    if let Some(endpoint) = place.endpoint() {
        builder = builder.with_endpoint(endpoint);
    }
    // Whoever writes `http` means it.
    if endpoints.iter().any(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    builder.build().map_err(|error| sentence(&error, place))
}
