//! The contract of a copy's storage: the same tests for a folder, memory, a bucket by names and a bucket by packs, and for
//! both kinds of bucket on each server that speaks S3.

mod storages;

use std::{
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use instep_objects::ObjectPlace;
use instep_testkit::S3Server;
use storages::{Implementation, TestStorage};

use super::bench::{SHA256, mapper, uri};
use crate::{
    ObjectLayout,
    commit::{Commit, NewFile},
    map::CopyPath,
    state::{HeldAt, PackTotals, ResourceMetadata},
    store::{MOST_PACKED, MemoryStore, PackSpans, StoreError},
};

/// The variable by which a process that is started for one server knows the prefix of its objects.
const PREFIX: &str = "INSTEP_TEST_STORE_PREFIX";

/// The variable that is set for a server that does not take long keys.
const SHORT: &str = "INSTEP_TEST_STORE_SHORT_KEYS";

fn owned(all: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = all.iter().map(|(uri, bytes)| ((*uri).to_owned(), bytes.to_vec())).collect();
    all.sort();
    all
}

/// Returns bytes that do not repeat.
fn noise(length: u64) -> Vec<u8> {
    (0..length).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Makes a test for each implementation of each function.
macro_rules! each_storage {
    ($($test:ident)*) => {
        /// Each test by its name.
        const ALL: &[(&str, fn(&TestStorage))] = &[$((stringify!($test), $test)),*];

        mod folder {
            $(#[test] fn $test() { super::$test(&super::TestStorage::of(super::Implementation::Folder)) })*
        }
        mod memory {
            $(#[test] fn $test() {
                let memory = std::sync::Arc::new(super::MemoryStore::new());
                super::$test(&super::TestStorage::of(super::Implementation::Memory(memory)))
            })*
        }
        mod names_in_a_bucket {
            $(#[test] fn $test() { super::$test(&super::TestStorage::in_memory(super::ObjectLayout::Names)) })*
        }
        mod packs_in_a_bucket {
            $(#[test] fn $test() { super::$test(&super::TestStorage::in_memory(super::ObjectLayout::Packs)) })*
        }
    };
}

each_storage! {
    what_is_committed_is_read_back_also_after_it_is_opened_again
    what_is_staged_is_no_part_of_the_copy_before_its_group_is_committed
    a_resource_has_the_bytes_that_came_last
    what_is_deleted_is_gone_and_leaves_the_rest
    resources_of_each_size_come_back
    names_of_each_kind_stay_apart
    what_an_interrupted_transfer_left_is_resumed
    a_storage_that_lost_everything_is_no_empty_copy
    a_resource_that_is_not_there_is_missing_and_costs_nothing_else
    what_is_dead_is_given_back
}

fn what_is_committed_is_read_back_also_after_it_is_opened_again(storage: &TestStorage) {
    let all: [(&str, &[u8]); 4] =
        [("http://h/a", b"a"), ("http://h/d/b", b"bb"), ("http://h/d/e/c", b"ccc"), ("http://h/", b"index")];
    let mut copy = storage.open();
    all.iter().for_each(|(uri, bytes)| copy.add(uri, bytes));
    copy.committer.finish().unwrap();
    assert_eq!(copy.contents(), owned(&all));
    drop(copy);
    assert_eq!(storage.open().contents(), owned(&all));
}

fn what_is_staged_is_no_part_of_the_copy_before_its_group_is_committed(storage: &TestStorage) {
    let mut copy = storage.open();
    copy.add("http://h/kept", b"kept");
    copy.committer.finish().unwrap();
    copy.add("http://h/kept", b"never");
    copy.add("http://h/new", b"never");
    drop(copy);
    let copy = storage.open();
    assert_eq!(copy.contents(), owned(&[("http://h/kept", b"kept")]));
    let path = mapper().map(&uri("http://h/new")).unwrap();
    assert!(copy.store.read(&path, &HeldAt::Path).is_err());
}

fn a_resource_has_the_bytes_that_came_last(storage: &TestStorage) {
    let mut copy = storage.open();
    for version in [&b"first"[..], b"", b"third is longer than the ones before"] {
        copy.add("http://h/a", version);
        copy.add("http://h/b", b"the same");
        copy.committer.finish().unwrap();
        assert_eq!(copy.contents(), owned(&[("http://h/a", version), ("http://h/b", b"the same")]));
        drop(copy);
        copy = storage.open();
    }
}

fn what_is_deleted_is_gone_and_leaves_the_rest(storage: &TestStorage) {
    let mut copy = storage.open();
    (0..6).for_each(|number| copy.add(&format!("http://h/d/{number}"), b"bytes"));
    copy.committer.flush().unwrap();
    let before = copy.held();
    (0..5).for_each(|number| copy.delete(&format!("http://h/d/{number}")));
    copy.committer.finish().unwrap();
    assert_eq!(copy.contents(), owned(&[("http://h/d/5", b"bytes")]));
    if !storage.is_packed() {
        for held in &before[..5] {
            let error = copy.store.read(&held.path, &held.place).err().unwrap();
            assert!(is_missing(&error), "{error}");
        }
    }
    // The copy also works after its last resource was deleted.
    copy.delete("http://h/d/5");
    copy.committer.finish().unwrap();
    assert!(copy.held().is_empty());
    copy.add("http://h/d/5", b"again");
    copy.committer.finish().unwrap();
    assert_eq!(copy.contents(), owned(&[("http://h/d/5", b"again")]));
}

fn resources_of_each_size_come_back(storage: &TestStorage) {
    let sizes = [0, 1, MOST_PACKED - 1, MOST_PACKED, MOST_PACKED + 1, (8 << 20) + 1, 17 << 20];
    let mut copy = storage.open();
    sizes.iter().for_each(|size| copy.add(&format!("http://h/{size}"), &noise(*size)));
    copy.committer.finish().unwrap();
    for held in copy.held() {
        let size = held.metadata.length.unwrap();
        assert!(copy.read(&held) == noise(size), "{size} bytes");
    }
    assert_eq!(copy.held().len(), sizes.len());
}

fn names_of_each_kind_stay_apart(storage: &TestStorage) {
    // s3s-fs has files whose names are keys in Base64.
    let longest = if std::env::var_os(SHORT).is_some() { 100 } else { 300 };
    let long = format!("http://h/{}", "x".repeat(longest));
    let uris = [
        "http://h/a",
        "http://h/a/b",
        "http://h/a/b/c",
        "http://h/A",
        "http://h/a%20b",
        "http://h/a+b",
        "http://h/a?b=c&d",
        "http://h/%C3%A9",
        "http://h/e%CC%81",
        "http://h/%2F",
        "http://h/%25",
        "http://h/..%2Fx",
        "http://h/@",
        "http://h/=",
        "http://h/'!*()",
        "http://other/a",
        "http://h/.instep",
        "http://h/%7Ea",
        &long,
    ];
    let mut copy = storage.open();
    uris.iter().for_each(|uri| copy.add(uri, uri.as_bytes()));
    copy.committer.finish().unwrap();
    drop(copy);
    let copy = storage.open();
    let contents = copy.contents();
    assert_eq!(contents.len(), uris.len());
    assert!(contents.iter().all(|(uri, bytes)| uri.as_bytes() == bytes), "{contents:?}");
}

fn what_an_interrupted_transfer_left_is_resumed(storage: &TestStorage) {
    let copy = storage.open();
    let mut part = copy.store.staging().stage(&SHA256).unwrap();
    part.write(b"first ").unwrap();
    part.keep_for("http://h/large", "\"etag\"").unwrap();
    part.write(b"half, ").unwrap();
    drop(part);
    drop(copy);
    let mut copy = storage.open();
    let resumed = copy.store.staging().resume("http://h/large", &SHA256, true).unwrap();
    let (mut part, validator) = resumed.unwrap();
    assert_eq!((validator.as_str(), part.length()), ("\"etag\"", 12));
    part.write(b"second half").unwrap();
    let (uri, staged) = (uri("http://h/large"), part.finish(None).unwrap());
    let path = mapper().map(&uri).unwrap();
    let file = NewFile::new(uri, path, staged, ResourceMetadata::new(), copy.set);
    copy.committer.add(Commit::File(file)).unwrap();
    copy.committer.finish().unwrap();
    assert_eq!(copy.contents(), owned(&[("http://h/large", b"first half, second half")]));
}

fn a_storage_that_lost_everything_is_no_empty_copy(storage: &TestStorage) {
    let mut copy = storage.open();
    assert!(copy.store.expect_bytes().is_err());
    copy.add("http://h/a", b"a");
    copy.committer.finish().unwrap();
    copy.store.expect_bytes().unwrap();
}

fn a_resource_that_is_not_there_is_missing_and_costs_nothing_else(storage: &TestStorage) {
    let mut copy = storage.open();
    ["a", "b", "c"].iter().for_each(|name| copy.add(&format!("http://h/{name}"), name.as_bytes()));
    copy.committer.finish().unwrap();
    let held = copy.held();
    let nowhere = match &held[1].place {
        HeldAt::Path => CopyPath::from_state("none").unwrap(),
        HeldAt::Object { .. } => held[1].path.clone(),
    };
    let place = match held[1].place.clone() {
        HeldAt::Path => HeldAt::Path,
        HeldAt::Object { key, offset, length } => {
            HeldAt::Object { key: key.replace("packs/", "packs/none/").into(), offset, length }
        }
    };
    let error = copy.store.read(&nowhere, &place).err().unwrap();
    assert!(is_missing(&error), "{error}");
    let places = [&held[0].place, &place, &held[2].place];
    let (mut spans, _) = PackSpans::of(places.into_iter());
    assert!(copy.store.read_within(&mut spans, &nowhere, &place).is_err());
    let mut bytes = Vec::new();
    let read = copy.store.read_within(&mut spans, &held[2].path, &held[2].place);
    read.unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"c");
}

fn what_is_dead_is_given_back(storage: &TestStorage) {
    let mut copy = storage.open();
    for version in 0..4 {
        (0..20).for_each(|number| copy.add(&format!("http://h/{number}"), format!("{version}").as_bytes()));
        copy.committer.finish().unwrap();
    }
    let totals = copy.committer.state().pack_totals().unwrap();
    if storage.is_packed() {
        assert_eq!((totals.objects, totals.dead), (1, 0))
    } else {
        assert_eq!(totals, PackTotals::default())
    }
    assert!(copy.contents().iter().all(|(_, bytes)| bytes == b"3"));
}

fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

/// Runs in a process that gets the credentials of one server from its environment; it is not a test by itself.
#[test]
fn on_a_server() {
    let Some(prefix) = std::env::var_os(PREFIX) else { return };
    let next = AtomicUsize::new(0);
    for layout in [ObjectLayout::Names, ObjectLayout::Packs] {
        for (name, test) in ALL {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let url = format!("s3://{}/{}/{number}", S3Server::BUCKET, prefix.to_string_lossy());
            println!("{name} in {url}, {layout:?}");
            test(&TestStorage::of(Implementation::Bucket(layout, ObjectPlace::parse(&url).unwrap())));
        }
    }
}

fn keeps_the_contract(server: &S3Server, takes_long_keys: bool) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "commit::tests::stores::on_a_server", "--nocapture"]).env(PREFIX, "contract");
    if !takes_long_keys {
        child.env(SHORT, "1");
    }
    server.configure(&mut child);
    let run = instep_testkit::Run::of(&mut child);
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("Packs"), "{}", run.stdout);
}

#[test]
fn moto_keeps_the_contract() {
    let Some(server) = S3Server::moto() else { return };
    keeps_the_contract(&server, true);
}

#[test]
fn s3s_keeps_the_contract() {
    let Some(server) = S3Server::s3s() else { return };
    keeps_the_contract(&server, false);
}

#[test]
fn o862_an_object_that_is_replaced_while_it_is_read_is_not_mixed_with_the_new_one() {
    let storage = TestStorage::in_memory(ObjectLayout::Names);
    let mut copy = storage.open();
    copy.add("http://h/large", &vec![b'a'; 9 << 20]);
    copy.committer.flush().unwrap();
    let held = copy.held();
    let mut reader = copy.store.read(&held[0].path, &held[0].place).unwrap();
    reader.read_exact(&mut [0; 1_000]).unwrap();
    copy.add("http://h/large", &vec![b'b'; 9 << 20]);
    copy.committer.flush().unwrap();
    let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
    assert!(copy.read(&held[0]) == vec![b'b'; 9 << 20]);
}
