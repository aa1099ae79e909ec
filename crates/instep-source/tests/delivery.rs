//! Documents are delivered to object storage: in order, once, and after an interruption from where it stopped.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "delivery/interrupted.rs"]
mod interrupted;
#[path = "delivery/store.rs"]
mod store;

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use instep_source::{Error, ErrorKind, NoMonitor, ObjectPlace, PublishOptions, PublishReport, publish};
use object_store::{Attribute, ObjectStore};
use store::ObservedStore;
use tempfile::TempDir;

const BASE: &str = "https://data.example.org/";

/// A Source whose documents are delivered to a bucket.
struct Delivered {
    root: TempDir,
    store: Arc<ObservedStore>,
    options: PublishOptions,
}

impl Delivered {
    fn new() -> Self {
        let (root, store) = (tempfile::tempdir().unwrap(), Arc::new(ObservedStore::new(BASE)));
        let mut options = PublishOptions::new(root.path().join("files"), BASE);
        fs::create_dir(root.path().join("files")).unwrap();
        options.state = root.path().join("state");
        options.out = options.state.join("documents");
        options.deliver_to = Some(place("s3://bucket", &store));
        Self { root, store, options }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root.path().join("files").join(name), text).unwrap();
    }

    fn publish(&self) -> Result<PublishReport, Error> {
        publish(&self.options, &NoMonitor)
    }

    /// Returns the documents in the folder, by their names.
    fn documents(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.options.out, &self.options.out, &mut found);
        found
    }

    fn assert_delivered(&self) {
        let (folder, bucket) = (self.documents(), self.store.objects());
        assert_eq!(folder.keys().collect::<Vec<_>>(), bucket.keys().collect::<Vec<_>>());
        assert!(folder == bucket, "bytes differ");
    }
}

fn place(url: &str, store: &Arc<ObservedStore>) -> ObjectPlace {
    ObjectPlace::parse(url).unwrap().in_store(Arc::clone(store) as Arc<dyn ObjectStore>)
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.insert(name, fs::read(path).unwrap());
        }
    }
}

#[test]
fn each_document_is_delivered_once_with_its_headers() {
    let source = Delivered::new();
    source.write("a", "1");
    let report = source.publish().unwrap();
    assert_eq!(report.delivered as usize, source.documents().len());
    source.assert_delivered();
    let changes = source.store.changes();
    assert!(source.publish().unwrap().is_nothing_new());
    assert_eq!(source.store.changes(), changes, "nothing new is delivered");

    source.write("a", "22");
    source.publish().unwrap();
    source.assert_delivered();
    for (name, media_type, cache) in [
        (".well-known/resourcesync", "application/xml", "public, max-age=0, must-revalidate"),
        ("resourcesync/changelist-000001.xml", "application/xml", "public, max-age=0, must-revalidate"),
        ("robots.txt", "text/plain; charset=utf-8", "public, max-age=0, must-revalidate"),
    ] {
        let attributes = source.store.attributes(name);
        assert_eq!(attributes.get(&Attribute::ContentType).unwrap().as_ref(), media_type);
        assert_eq!(attributes.get(&Attribute::CacheControl).unwrap().as_ref(), cache);
    }
}

#[test]
fn parts_that_never_change_may_be_cached_for_ever() {
    let mut source = Delivered::new();
    source.options.lists.entries = 2;
    ["a", "b", "c"].iter().for_each(|name| source.write(name, "1"));
    source.publish().unwrap();
    source.assert_delivered();
    let parts = source.documents().into_keys().filter(|name| name.contains("resourcelist-"));
    let parts: Vec<_> = parts.collect();
    assert_eq!(parts.len(), 2);
    for part in parts {
        let cache = source.store.attributes(&part).get(&Attribute::CacheControl).unwrap().to_string();
        assert!(cache.contains("immutable"), "{part}: {cache}");
    }
}

#[test]
fn what_expires_is_removed_from_the_bucket() {
    let mut source = Delivered::new();
    source.options.lists.entries = 2;
    source.options.lists.grace = Duration::ZERO;
    ["a", "b", "c"].iter().for_each(|name| source.write(name, "1"));
    source.publish().unwrap();
    let first: Vec<_> =
        source.store.objects().into_keys().filter(|name| name.contains("resourcelist-")).collect();
    source.options.lists.snapshot = true;
    for text in ["22", "333", "4444"] {
        source.write("a", text);
        source.publish().unwrap();
        source.assert_delivered();
    }
    assert!(first.iter().all(|name| !source.store.objects().contains_key(name)));
}

#[test]
fn c15_objects_of_others_are_not_replaced_unasked() {
    let mut source = Delivered::new();
    source.write("a", "1");
    source.store.plant("robots.txt", b"User-agent: *");
    let refused = source.publish().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(
        refused.to_string().contains("s3://bucket") && refused.to_string().contains("robots.txt"),
        "{refused}"
    );
    assert_eq!(source.store.objects().len(), 1, "nothing was delivered");
    assert!(source.publish().is_err(), "it stays refused");
    source.options.overwrite_documents = true;
    source.publish().unwrap();
    source.assert_delivered();

    let mut other = Delivered::new();
    other.write("b", "1");
    other.options.deliver_to.clone_from(&source.options.deliver_to);
    assert_eq!(other.publish().unwrap_err().kind(), ErrorKind::Refused, "another Source has its own mark");
    source.options.overwrite_documents = false;
    source.write("a", "22");
    source.publish().unwrap();
}

#[test]
fn another_place_gets_every_document_and_a_folder_in_between_loses_none() {
    let mut source = Delivered::new();
    source.write("a", "1");
    source.publish().unwrap();
    let first = source.options.deliver_to.clone();
    let second = Arc::new(ObservedStore::new(BASE));
    source.options.deliver_to = Some(place("s3://other", &second));
    source.publish().unwrap();
    assert_eq!(second.objects(), source.documents());

    source.options.deliver_to = None;
    source.write("b", "1");
    source.publish().unwrap();
    source.options.deliver_to = Some(place("s3://other", &second));
    source.publish().unwrap();
    assert_eq!(second.objects(), source.documents());
    source.options.deliver_to = first;
    source.publish().unwrap();
    source.assert_delivered();
}

#[test]
fn large_documents_are_delivered_in_parts() {
    let mut source = Delivered::new();
    source.options.dumps.policy = instep_source::DumpPolicy::Always;
    let mut random = 1_u32;
    let mut noise = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 24) as u8
    };
    let bytes: Vec<u8> = (0..(9 << 20)).map(|_| noise()).collect();
    fs::write(source.root.path().join("files/large.png"), bytes).unwrap();
    source.publish().unwrap();
    source.assert_delivered();
    assert_eq!(source.store.multipart(), 1);
}
