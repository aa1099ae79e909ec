//! Packages, as a reader opens them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::PathBuf,
};

use instep_source::{DumpPolicy, PublishOptions, Publisher, TestMonitor, VoidMonitor, publish};
use resourcesync::{
    Algorithm, Capability, DocumentReader, Entry, Hasher, Header, ReadOptions, Relation,
    package::{Package, PackageLimits},
};
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> (TempDir, PublishOptions) {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut options = PublishOptions::new(root.path(), "http://example.com/data");
    options.dumps.policy = DumpPolicy::Always;
    (root, options)
}

fn document(options: &PublishOptions, name: &str) -> PathBuf {
    options.out.join("resourcesync").join(name)
}

fn read(options: &PublishOptions, name: &str) -> (Header, Vec<Entry>) {
    let bytes = fs::read(document(options, name)).unwrap();
    let mut reader = DocumentReader::new(&bytes[..], ReadOptions::new()).unwrap();
    let (header, mut entries, mut entry) = (reader.header().clone(), Vec::new(), Entry::default());
    while reader.read_entry(&mut entry).unwrap() {
        entries.push(entry.clone());
    }
    (header, entries)
}

fn name_of(uri: &resourcesync::Uri) -> String {
    uri.as_str().rsplit('/').next().unwrap().to_owned()
}

/// The resources in a package, checked against its manifest, the manifest against its copy.
fn unpack(options: &PublishOptions, package: &Entry) -> BTreeMap<String, String> {
    let bytes = fs::read(document(options, &name_of(&package.loc))).unwrap();
    assert_eq!(package.metadata.length, Some(bytes.len() as u64));
    let mut hasher = Hasher::new(&[Algorithm::Sha256]);
    hasher.update(&bytes);
    assert_eq!(package.metadata.hash, hasher.finish());

    let copy = name_of(&package.link_for(&Relation::Contents).unwrap().href);
    let (header, entries) = read(options, &copy);
    assert_eq!(header.capability(), Some(&Capability::ResourceDumpManifest));
    assert_eq!(header.metadata.as_ref().unwrap().at, package.metadata.at);
    let file = File::open(document(options, &name_of(&package.loc))).unwrap();
    let mut package = Package::open(file, PackageLimits::new()).unwrap();
    assert_eq!(package.members().count(), entries.len() + 1);
    let mut manifest = String::new();
    package
        .bitstream(&resourcesync::PackagePath::new("/manifest.xml"))
        .unwrap()
        .read_to_string(&mut manifest)
        .unwrap();
    assert_eq!(manifest, fs::read_to_string(document(options, &copy)).unwrap());
    let content = |entry: &Entry| {
        let mut text = String::new();
        package.bitstream(entry.metadata.path.as_ref().unwrap()).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(entry.metadata.length, Some(text.len() as u64));
        (entry.loc.to_string(), text)
    };
    entries.iter().map(content).collect()
}

#[test]
fn a_resource_dump_has_parts_bounded_by_count_and_bytes() {
    let (_root, mut options) = folder(&[("a.txt", "one"), ("b/c", "two"), ("d", "three"), ("e f", "four")]);
    options.dumps.part_entries = 3;
    options.dumps.part_bytes = 8;
    let report = publish(&options, &VoidMonitor).unwrap();
    assert!(report.documents.iter().any(|name| name == "resourcesync/resourcedump.xml"));
    let (header, packages) = read(&options, "resourcedump.xml");
    assert_eq!(header.up().unwrap().as_str(), "http://example.com/data/resourcesync/capabilitylist.xml");
    assert_eq!(packages.len(), 3);
    let all: BTreeMap<_, _> = packages.iter().flat_map(|package| unpack(&options, package)).collect();
    let expected = [("a.txt", "one"), ("b/c", "two"), ("d", "three"), ("e%20f", "four")]
        .map(|(name, text)| (format!("http://example.com/data/{name}"), text.to_owned()));
    assert_eq!(all, expected.into_iter().collect());
    let (_, offered) = read(&options, "capabilitylist.xml");
    assert!(offered.iter().any(|entry| entry.metadata.capability == Some(Capability::ResourceDump)));
    assert!(publish(&options, &VoidMonitor).unwrap().is_nothing_new());
}

#[test]
fn the_same_resources_give_the_same_package() {
    let packages = [0, 1].map(|_| {
        let (_root, options) = folder(&[("a.json", &"{}".repeat(1_000)), ("b", "two")]);
        publish(&options, &VoidMonitor).unwrap();
        let (_, packages) = read(&options, "resourcedump.xml");
        let file = File::open(document(&options, &name_of(&packages[0].loc))).unwrap();
        let package = Package::open(file, PackageLimits::new()).unwrap();
        let bitstreams = package.members().filter(|member| &*member.name != "manifest.xml");
        bitstreams.map(|it| (it.name.clone(), it.crc, it.compressed)).collect::<Vec<_>>()
    });
    assert_eq!(packages[0], packages[1]);
}

#[test]
fn a_file_that_changes_before_it_is_packed_is_packed_as_it_is() {
    let (root, options) = folder(&[("a", "one"), ("b", "two"), ("c", "three")]);
    let mut publisher = Publisher::open(options.clone()).unwrap();
    publisher.publish(&VoidMonitor).unwrap();
    let job = publisher.dump_job().unwrap().unwrap();
    fs::write(root.path().join("a"), "another length").unwrap();
    fs::write(root.path().join("b"), "TWO").unwrap();
    fs::remove_file(root.path().join("c")).unwrap();
    let monitor = TestMonitor::new();
    let built = job.build(&monitor).unwrap();
    publisher.place_dumps(built, &VoidMonitor).unwrap();
    let (_, packages) = read(&options, "resourcedump.xml");
    let texts: Vec<_> = unpack(&options, &packages[0]).into_values().collect();
    assert_eq!(texts, ["another length", "TWO"]);
    assert_eq!(monitor.seen().problems.len(), 1);
}

#[test]
fn a_dump_that_is_not_wanted_any_more_leaves_the_capability_list() {
    let (_root, mut options) = folder(&[("a", "one")]);
    publish(&options, &VoidMonitor).unwrap();
    let package = read(&options, "resourcedump.xml").1.remove(0);
    options.dumps.policy = DumpPolicy::Auto;
    options.dumps.auto_bytes = 2;
    publish(&options, &VoidMonitor).unwrap();
    let (_, offered) = read(&options, "capabilitylist.xml");
    assert_eq!(offered.len(), 2);
    assert!(document(&options, &name_of(&package.loc)).exists(), "readers on their way");
    options.lists.grace = std::time::Duration::ZERO;
    publish(&options, &VoidMonitor).unwrap();
    assert!(!document(&options, &name_of(&package.loc)).exists());
}
