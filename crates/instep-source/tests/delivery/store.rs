//! A bucket in memory that fails or ends the process at a given change, and is read by a strict reader after each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    memory::InMemory, path::Path,
};

/// Relations of links to documents above; those are not there yet when a bucket is filled first.
const UPWARDS: [&str; 4] = ["\"up\"", "\"index\"", "\"resourcesync\"", "\"archives\""];

const DESCRIPTION: &str = ".well-known/resourcesync";

/// The interruption at the change with a given number; the first one is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// It fails, and so does each later one.
    Failure,
    /// The thread ends, as a killed process does: nobody cleans up.
    Kill,
}

#[derive(Debug)]
pub(crate) struct ObservedStore {
    bucket: Arc<ReadBucket>,
    changes: AtomicUsize,
    multipart: AtomicUsize,
    fails_at: AtomicUsize,
    kills_at: AtomicUsize,
}

impl ObservedStore {
    pub(crate) fn new(base: &'static str) -> Self {
        let never = || AtomicUsize::new(usize::MAX);
        let (changes, multipart) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let bucket = Arc::new(ReadBucket { inner: InMemory::new(), base });
        Self { bucket, changes, multipart, fails_at: never(), kills_at: never() }
    }

    pub(crate) fn interrupt(&self, at: usize, interruption: Interruption) {
        let at = self.changes() + at;
        match interruption {
            Interruption::Failure => self.fails_at.store(at, SeqCst),
            Interruption::Kill => self.kills_at.store(at, SeqCst),
        }
    }

    pub(crate) fn mend(&self) {
        self.fails_at.store(usize::MAX, SeqCst);
        self.kills_at.store(usize::MAX, SeqCst);
    }

    pub(crate) fn changes(&self) -> usize {
        self.changes.load(SeqCst)
    }

    pub(crate) fn multipart(&self) -> usize {
        self.multipart.load(SeqCst)
    }

    pub(crate) fn plant(&self, name: &str, bytes: &'static [u8]) {
        wait(self.bucket.inner.put(&Path::from(name), PutPayload::from_static(bytes))).unwrap();
    }

    pub(crate) fn attributes(&self, name: &str) -> Attributes {
        wait(self.bucket.inner.get(&Path::from(name))).unwrap().attributes
    }

    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        wait(self.bucket.read()).unwrap()
    }

    fn begin_change(&self) -> Result<()> {
        let number = self.changes.fetch_add(1, SeqCst) + 1;
        assert!(number < self.kills_at.load(SeqCst), "killed by the test");
        if number < self.fails_at.load(SeqCst) {
            Ok(())
        } else {
            Err(Error::Generic { store: "test", source: "out of order".into() })
        }
    }
}

/// The objects, and the strict reader.
#[derive(Debug)]
struct ReadBucket {
    inner: InMemory,
    base: &'static str,
}

impl ReadBucket {
    async fn read(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let found: Vec<_> = self.inner.list(None).try_collect().await?;
        let mut objects = BTreeMap::new();
        for object in found {
            let bytes = self.inner.get(&object.location).await?.bytes().await?;
            objects.insert(object.location.to_string(), bytes.to_vec());
        }
        Ok(objects)
    }

    /// Whoever reads the bucket now finds all that its documents lead down to, and whoever begins at the Source
    /// Description finds all that they lead to.
    async fn assert_consistent(&self) -> Result<()> {
        let objects = self.read().await?;
        for (name, bytes) in &objects {
            for link in self.links(name, bytes).iter().filter(|link| !link.is_upward) {
                assert!(
                    objects.contains_key(&link.target),
                    "{name} leads to {}, which is not there",
                    link.target
                );
            }
        }
        let (mut seen, mut open) = (BTreeSet::new(), vec![DESCRIPTION.to_owned()]);
        while let Some(name) = open.pop().filter(|_| objects.contains_key(DESCRIPTION)) {
            let bytes =
                objects.get(&name).unwrap_or_else(|| panic!("readers are led to {name}, which is not there"));
            let links = self.links(&name, bytes).into_iter().map(|link| link.target);
            open.extend(links.filter(|target| seen.insert(target.clone())));
        }
        Ok(())
    }

    /// Returns the links of a document to others.
    fn links(&self, name: &str, bytes: &[u8]) -> Vec<FoundLink> {
        let text = String::from_utf8_lossy(bytes);
        let is_xml = name.ends_with(".xml") || name == DESCRIPTION;
        let tags = text.split('<').filter(|_| is_xml);
        let link = |tag: &str| {
            let (start, is_link) = (tag.find(self.base)? + self.base.len(), tag.starts_with("rs:ln"));
            let target = tag[start..].split('"').next()?.to_owned();
            let is_upward = is_link && UPWARDS.iter().any(|rel| tag.contains(rel));
            (target.starts_with("resourcesync/")).then_some(FoundLink { target, is_upward })
        };
        tags.filter_map(link).collect()
    }
}

/// A link to a document.
struct FoundLink {
    target: String,
    /// `true` if it leads to a document above, or beside.
    is_upward: bool,
}

/// Waits for what is in memory and never pauses.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

impl fmt::Display for ObservedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObservedStore")
    }
}

#[async_trait]
impl ObjectStore for ObservedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.begin_change()?;
        let result = self.bucket.inner.put_opts(location, payload, options).await?;
        self.bucket.assert_consistent().await?;
        Ok(result)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.begin_change()?;
        self.multipart.fetch_add(1, SeqCst);
        self.bucket.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.bucket.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        if let Err(error) = self.begin_change() {
            return futures_util::stream::once(async { Err(error) }).boxed();
        }
        let bucket = Arc::clone(&self.bucket);
        let remove = move |location: Path| {
            let bucket = Arc::clone(&bucket);
            async move {
                bucket.inner.delete(&location).await?;
                bucket.assert_consistent().await?;
                Ok(location)
            }
        };
        locations.and_then(remove).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.bucket.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.bucket.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.bucket.inner.copy_opts(from, to, options).await
    }
}
