//! Packs that cannot be read although they are there: they stay as they are.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};

use super::packs::Storage;
use crate::ObjectLayout;

/// A bucket whose objects cannot be read for a time.
#[derive(Debug)]
struct RefusingStore {
    inner: Arc<InMemory>,
    refuses: AtomicBool,
}

impl fmt::Display for RefusingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusingStore")
    }
}

#[async_trait]
impl ObjectStore for RefusingStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if self.refuses.load(Ordering::SeqCst) && !options.head {
            return Err(Error::Generic { store: "test", source: "it refuses".into() });
        }
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[test]
fn o409_a_pack_that_is_mostly_dead_and_cannot_be_read_stays_and_does_not_end_the_run() {
    let storage = Storage::new(ObjectLayout::Packs);
    let bucket =
        Arc::new(RefusingStore { inner: Arc::clone(&storage.objects), refuses: AtomicBool::new(false) });
    let mut copy = storage.open_in(Arc::clone(&bucket) as Arc<dyn ObjectStore>, None);
    let uri = |number: usize| format!("http://h/{number}");
    (0..10).for_each(|number| copy.add(&uri(number), format!("first {number}").as_bytes()));
    copy.committer.flush().unwrap();
    let first = storage.keys();
    bucket.refuses.store(true, Ordering::SeqCst);
    (0..7).for_each(|number| copy.add(&uri(number), b"second"));
    copy.committer.finish().unwrap();
    assert!(storage.keys().is_superset(&first));

    // The next run tries it again.
    bucket.refuses.store(false, Ordering::SeqCst);
    copy.committer.finish().unwrap();
    assert!(storage.keys().is_disjoint(&first));
    let expected = |number: usize| if number < 7 { "second".to_owned() } else { format!("first {number}") };
    let expected: Vec<_> = (0..10).map(|number| (uri(number), expected(number).into_bytes())).collect();
    assert_eq!(copy.contents(), expected);
}
