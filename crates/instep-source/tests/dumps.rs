//! Packages, as a reader opens them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    io::Read,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::Duration,
};

use instep_source::{
    Archives, CodingRule, Content, DumpPolicy, Error, LinkRule, MaxDeletions, NoMonitor, PublishOptions,
    Publisher, RecordingMonitor, ReportedChange, publish,
};
use resourcesync::{
    Algorithm, Capability, Change, Document, DocumentReader, Entry, Hasher, Header, PackagePath, ReadOptions,
    Relation, Uri,
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

fn name_of(uri: &Uri) -> String {
    uri.as_str().rsplit('/').next().unwrap().to_owned()
}

/// Returns the resources in a package, checked against its manifest, the manifest against its copy.
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
    package.bitstream(&PackagePath::new("/manifest.xml")).unwrap().read_to_string(&mut manifest).unwrap();
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
    let report = publish(&options, &NoMonitor).unwrap();
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
    assert!(publish(&options, &NoMonitor).unwrap().is_nothing_new());
}

#[test]
fn the_same_resources_give_the_same_package() {
    let packages = [0, 1].map(|_| {
        let (_root, options) = folder(&[("a.json", &"{}".repeat(1_000)), ("b", "two")]);
        publish(&options, &NoMonitor).unwrap();
        let (_, packages) = read(&options, "resourcedump.xml");
        let file = File::open(document(&options, &name_of(&packages[0].loc))).unwrap();
        let mut package = Package::open(file, PackageLimits::new()).unwrap();
        let bitstreams =
            package.members().map(Result::unwrap).filter(|member| &*member.name != "manifest.xml");
        bitstreams.map(|it| (it.name.clone(), it.crc, it.compressed)).collect::<Vec<_>>()
    });
    assert_eq!(packages[0], packages[1]);
}

#[test]
fn a_file_that_changes_before_it_is_packed_is_packed_as_it_is() {
    let (root, options) = folder(&[("a", "one"), ("b", "two"), ("c", "three")]);
    let mut publisher = Publisher::open(options.clone()).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    let job = publisher.dump_job(&NoMonitor).unwrap().unwrap();
    fs::write(root.path().join("a"), "another length").unwrap();
    fs::write(root.path().join("b"), "TWO").unwrap();
    fs::remove_file(root.path().join("c")).unwrap();
    let monitor = RecordingMonitor::new();
    let built = job.build(&monitor).unwrap();
    publisher.place_dumps(built, &NoMonitor).unwrap();
    let (_, packages) = read(&options, "resourcedump.xml");
    let texts: Vec<_> = unpack(&options, &packages[0]).into_values().collect();
    assert_eq!(texts, ["another length", "TWO"]);
    assert_eq!(monitor.seen().problems.len(), 1);
}

#[test]
fn o696_a_resource_dump_lacks_no_more_resources_than_a_publication_may_delete() {
    let names: Vec<_> = (0..20).map(|number| format!("{number:02}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "text")).collect();
    let (root, mut options) = folder(&files);
    let mut publisher = Publisher::open(options.clone()).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    // As if a disk was unmounted after the scan.
    let job = publisher.dump_job(&NoMonitor).unwrap().unwrap();
    names[..11].iter().for_each(|name| fs::remove_file(root.path().join(name)).unwrap());
    let refused = job.build(&NoMonitor).unwrap_err();
    assert!(
        matches!(refused, Error::DeletionsRefused { deletions: 11, resources: 20, limit: 10, .. }),
        "{refused}"
    );
    drop(publisher);
    options.guard.most = MaxDeletions::Count(11);
    let job = Publisher::open(options).unwrap().dump_job(&NoMonitor).unwrap().unwrap();
    job.build(&NoMonitor).unwrap();
}

fn offers(options: &PublishOptions, capability: &Capability) -> bool {
    let (_, offered) = read(options, "capabilitylist.xml");
    offered.iter().any(|entry| entry.metadata.capability.as_ref() == Some(capability))
}

fn assert_reported_once(monitor: &RecordingMonitor) {
    let problems = monitor.seen().problems;
    let is_reported = |text: &str| text.contains("http://example.com/records/1 has no file here");
    assert_eq!(problems.iter().filter(|problem| is_reported(&problem.what)).count(), 1, "{problems:?}");
}

fn report(options: &PublishOptions, change: ReportedChange) {
    let publisher = Publisher::open(options.clone()).unwrap();
    publisher.record(vec![change], &NoMonitor).unwrap();
}

#[test]
fn o905_a_set_with_a_resource_that_has_no_file_offers_no_resource_dump() {
    let (_root, mut options) = folder(&[("a", "one")]);
    options.dumps.every = Duration::ZERO;
    let offers_dump = || offers(&options, &Capability::ResourceDump);
    let report = |change| report(&options, change);
    let record = Uri::parse("http://example.com/records/1").unwrap();
    publish(&options, &NoMonitor).unwrap();
    assert!(offers_dump());
    report(ReportedChange::add(record.clone()));
    // The dump in place is given up, and no later publication has one.
    for _ in 0..2 {
        let monitor = RecordingMonitor::new();
        publish(&options, &monitor).unwrap();
        assert!(!offers_dump());
        assert_reported_once(&monitor);
    }
    report(ReportedChange::remove(record));
    publish(&options, &NoMonitor).unwrap();
    assert!(offers_dump());
}

#[test]
fn o1025_a_set_with_a_resource_that_has_no_file_offers_no_change_dump() {
    let (root, mut options) = folder(&[("a", "one")]);
    options.dumps.policy = DumpPolicy::Never;
    options.dumps.changes = true;
    options.sets[0].change_list = false;
    let offers_dump = || offers(&options, &Capability::ChangeDump);
    let report = |change| report(&options, change);
    let record = Uri::parse("http://example.com/records/1").unwrap();
    publish(&options, &NoMonitor).unwrap();
    assert!(offers_dump());
    // Readers of the dump alone would not learn of the record, and would miss all its changes.
    report(ReportedChange::add(record.clone()));
    for text in ["one", "two"] {
        fs::write(root.path().join("a"), text).unwrap();
        let monitor = RecordingMonitor::new();
        publish(&options, &monitor).unwrap();
        assert!(!offers_dump());
        assert_reported_once(&monitor);
    }
    assert!(publish(&options, &NoMonitor).unwrap().is_nothing_new());
    // A new dump begins after the deletion.
    report(ReportedChange::remove(record));
    publish(&options, &NoMonitor).unwrap();
    assert!(offers_dump());
    fs::write(root.path().join("a"), "three").unwrap();
    publish(&options, &NoMonitor).unwrap();
    let (_, packages) = read(&options, "changedump.xml");
    let packed: Vec<_> = packages.iter().flat_map(|package| states(&options, package)).collect();
    assert_eq!(packed.last(), Some(&(uri("a"), Change::Updated, "three".to_owned())));
}

#[test]
fn o905_a_file_that_a_manifest_names_and_that_is_not_there_is_reported_as_left_out_of_a_dump() {
    let (root, mut options) = folder(&[("a", "one")]);
    let lists = tempfile::tempdir().unwrap();
    let path = lists.path().join("list.jsonl");
    let listed = |name: &str, hash: &str| {
        format!(
            "{{\"uri\":\"http://example.com/data/{name}\",\"path\":\"{name}\",\"length\":3,\"hash\":\"{hash}\"}}\n"
        )
    };
    let hashes = ["md5:f97c5d29941bfb1b2fdab0874906ab82", "md5:1584abdf8ebdc9802ac0c6a7402c03b6"];
    fs::write(&path, listed("a", hashes[0]) + &listed("b", hashes[1])).unwrap();
    options.sets[0].content = vec![Content::Manifest { path, root: root.path().to_owned() }];
    let monitor = RecordingMonitor::new();
    assert_eq!(publish(&options, &monitor).unwrap().skipped, 1);
    let problems = monitor.seen().problems;
    assert!(
        problems.iter().any(|it| it.skipped && it.subject == "http://example.com/data/b"),
        "{problems:?}"
    );
    let (_, packages) = read(&options, "resourcedump.xml");
    assert_eq!(unpack(&options, &packages[0]).into_values().collect::<Vec<_>>(), ["one"]);
}

#[test]
fn o905_a_bitstream_of_a_package_has_a_type_although_its_manifest_states_none() {
    let (root, mut options) = folder(&[("a.json", "one")]);
    let lists = tempfile::tempdir().unwrap();
    let path = lists.path().join("list.csv");
    let line = "http://example.com/data/a.json?x=1.pdf,a.json,3,md5:f97c5d29941bfb1b2fdab0874906ab82";
    fs::write(&path, format!("uri,path,length,hash\n{line}\n")).unwrap();
    options.sets[0].content = vec![Content::Manifest { path, root: root.path().to_owned() }];
    publish(&options, &NoMonitor).unwrap();
    let (_, packages) = read(&options, "resourcedump.xml");
    let copy = name_of(&packages[0].link_for(&Relation::Contents).unwrap().href);
    let (_, entries) = read(&options, &copy);
    assert_eq!(entries[0].metadata.media_type.as_ref().unwrap().as_str(), "application/json");
}

#[test]
fn o905_the_type_of_a_bitstream_is_that_of_its_file_without_the_ending_of_its_coding() {
    let (root, mut options) = folder(&[("a.json", "one"), ("b.json", "one"), ("c.json.gz", "one")]);
    let lists = tempfile::tempdir().unwrap();
    let path = lists.path().join("list.csv");
    let rest = ",3,md5:f97c5d29941bfb1b2fdab0874906ab82\n";
    let line = |name: &str, file: &str| format!("http://example.com/data/{name},{file}{rest}");
    let lines = [line("view.php", "a.json,"), line("b.json", "b.json,gzip"), line("c", "c.json.gz,gzip")];
    fs::write(&path, format!("uri,path,encoding,length,hash\n{}", lines.concat())).unwrap();
    options.sets[0].content = vec![Content::Manifest { path, root: root.path().to_owned() }];
    publish(&options, &NoMonitor).unwrap();
    let (_, packages) = read(&options, "resourcedump.xml");
    let copy = name_of(&packages[0].link_for(&Relation::Contents).unwrap().href);
    let (_, entries) = read(&options, &copy);
    let types = entries.iter().map(|entry| entry.metadata.media_type.as_ref().unwrap().as_str());
    assert_eq!(types.collect::<Vec<_>>(), ["application/json"; 3]);
}

#[test]
fn o952_the_bytes_of_a_file_that_has_become_private_are_in_no_package() {
    let (root, mut options) = folder(&[("a", "one"), ("b", "two")]);
    options.dumps.every = Duration::ZERO;
    publish(&options, &NoMonitor).unwrap();
    let private = root.path().join("a");
    fs::set_permissions(&private, Permissions::from_mode(0o600)).unwrap();
    fs::write(&private, "secret").unwrap();
    fs::write(root.path().join("b"), "again").unwrap();
    let monitor = RecordingMonitor::new();
    let report = publish(&options, &monitor).unwrap();
    let (_, packages) = read(&options, "resourcedump.xml");
    let texts: Vec<_> = unpack(&options, &packages[0]).into_values().collect();
    assert_eq!(texts, ["again"]);
    let problems = monitor.seen().problems;
    let is_left_out = problems.iter().any(|it| it.skipped && it.subject == "http://example.com/data/a");
    assert!(report.skipped > 0 && is_left_out, "{problems:?}");
}

#[test]
fn a_dump_that_is_not_wanted_any_more_leaves_the_capability_list() {
    let (_root, mut options) = folder(&[("a", "one")]);
    publish(&options, &NoMonitor).unwrap();
    let package = read(&options, "resourcedump.xml").1.remove(0);
    options.dumps.policy = DumpPolicy::Auto;
    options.dumps.auto_bytes = 2;
    publish(&options, &NoMonitor).unwrap();
    let (_, offered) = read(&options, "capabilitylist.xml");
    assert_eq!(offered.len(), 2);
    assert!(document(&options, &name_of(&package.loc)).exists(), "readers on their way");
    options.lists.grace = Duration::ZERO;
    publish(&options, &NoMonitor).unwrap();
    assert!(!document(&options, &name_of(&package.loc)).exists());
}

fn uri(name: &str) -> Uri {
    Uri::parse(&format!("http://example.com/data/{name}")).unwrap()
}

#[test]
fn a_change_dump_holds_each_observed_state_and_grows_by_packages() {
    let (root, mut options) = folder(&[("a", "one"), ("b", "two")]);
    options.dumps.policy = DumpPolicy::Never;
    options.dumps.changes = true;
    let mut publisher = Publisher::open(options.clone()).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    for text in ["first", "second"] {
        fs::write(root.path().join("a"), text).unwrap();
        publisher.publish(&NoMonitor).unwrap();
    }
    fs::remove_file(root.path().join("b")).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    assert!(read(&options, "changedump.xml").1.is_empty(), "no change is an hour old");
    drop(publisher);

    publish(&options, &NoMonitor).unwrap();
    assert!(publish(&options, &NoMonitor).unwrap().is_nothing_new());
    fs::write(root.path().join("c"), "new").unwrap();
    publish(&options, &NoMonitor).unwrap();
    let (header, packages) = read(&options, "changedump.xml");
    assert_eq!(header.capability(), Some(&Capability::ChangeDump));
    assert_eq!((packages.len(), packages[0].metadata.from), (2, header.metadata.unwrap().from));
    assert_eq!(packages[0].metadata.until, packages[1].metadata.from);
    let packed = packages.iter().flat_map(|package| states(&options, package)).collect::<Vec<_>>();
    let expected = [
        ("a", "updated", "first"),
        ("a", "updated", "second"),
        ("b", "deleted", ""),
        ("c", "created", "new"),
    ];
    let expected = expected.map(|(name, change, text)| (uri(name), Change::parse(change), text.to_owned()));
    assert_eq!(packed, expected);
    let (_, offered) = read(&options, "capabilitylist.xml");
    assert!(offered.iter().any(|entry| entry.metadata.capability == Some(Capability::ChangeDump)));
}

#[test]
fn o817_a_package_of_changes_describes_them_as_the_change_list_does() {
    let (root, mut options) = folder(&[("a.xml", "one")]);
    options.dumps.policy = DumpPolicy::Never;
    options.dumps.changes = true;
    options.sets[0].links = vec![LinkRule::new("*.pdf", Relation::DescribedBy, "*.xml")];
    options.sets[0].codings = vec![CodingRule::new("*.json.gz", "gzip")];
    publish(&options, &NoMonitor).unwrap();
    for name in ["a.pdf", "b.json.gz"] {
        fs::write(root.path().join(name), name).unwrap();
    }
    publish(&options, &NoMonitor).unwrap();
    let package = read(&options, "changedump.xml").1.remove(0);
    let file = File::open(document(&options, &name_of(&package.loc))).unwrap();
    let mut open = Package::open(file, PackageLimits::new()).unwrap();
    let Document::ChangeDumpManifest(manifest) = open.read_manifest(ReadOptions::new()).unwrap() else {
        panic!()
    };
    let packed = |name: &str| manifest.entries.iter().find(|entry| entry.loc == uri(name)).unwrap();
    assert_eq!(packed("a.pdf").link_for(&Relation::DescribedBy).unwrap().href, uri("a.xml"));
    let coded = &packed("b.json.gz").metadata;
    let media_type = coded.media_type.as_ref().unwrap().as_str();
    assert_eq!((coded.encoding.as_deref(), media_type), (Some("gzip"), "application/json"));
}

#[test]
fn o463_no_package_of_changes_has_more_than_a_document_may_have() {
    let (root, mut options) = folder(&[("a", "one")]);
    options.dumps.policy = DumpPolicy::Never;
    options.dumps.changes = true;
    options.dumps.part_entries = 2;
    options.lists.closed_lists = 1;
    publish(&options, &NoMonitor).unwrap();
    let names: Vec<_> = (0..5).map(|number| format!("b{number}")).collect();
    for name in &names {
        fs::write(root.path().join(name), "new").unwrap();
    }
    publish(&options, &NoMonitor).unwrap();
    let (header, packages) = read(&options, "changedump.xml");
    // All of them stay, since no reader has seen them.
    assert_eq!((packages.len(), packages[0].metadata.from), (3, header.metadata.unwrap().from));
    for pair in packages.windows(2) {
        assert_eq!(pair[0].metadata.until, pair[1].metadata.from);
    }
    let packed: Vec<_> = packages.iter().map(|package| states(&options, package)).collect();
    assert_eq!(packed.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    let mut packed: Vec<_> = packed.into_iter().flatten().map(|(uri, ..)| name_of(&uri)).collect();
    packed.sort();
    assert_eq!(packed, names);
    publish(&options, &NoMonitor).unwrap();
    assert_eq!(read(&options, "changedump.xml").1, packages[2..]);
}

#[test]
fn c33_the_newest_package_of_changes_stays_however_few_lists_are_kept() {
    for most in [0, 1, 2, 3] {
        let (root, mut options) = folder(&[("a", "one")]);
        options.dumps.changes = true;
        options.lists.closed_lists = most;
        publish(&options, &NoMonitor).unwrap();
        let mut reached = read(&options, "changedump.xml").0.metadata.unwrap().from;
        for number in 0..7 {
            fs::write(root.path().join(format!("b{number}")), "new").unwrap();
            publish(&options, &NoMonitor).unwrap();
            let (header, packages) = read(&options, "changedump.xml");
            assert!(
                header.metadata.unwrap().from <= reached,
                "{most}, {number}: a gap after the former dump"
            );
            assert!(packages.len() <= most.max(1), "{most}, {number}: {} packages", packages.len());
            let newest = packages.last().unwrap();
            assert_eq!(states(&options, newest).last().map(|it| &it.0), Some(&uri(&format!("b{number}"))));
            reached = newest.metadata.until;
        }
    }
}

#[test]
fn resources_without_files_are_told_once() {
    let (root, mut options) = folder(&[("a", "one")]);
    options.dumps.policy = DumpPolicy::Always;
    let lines: String = (0..20_000).map(|number| format!("urn:record:{number}\n")).collect();
    let manifest = root.path().join(".records.csv");
    fs::write(&manifest, format!("uri\n{lines}")).unwrap();
    options.sets[0].content.push(Content::Manifest { path: manifest, root: root.path().to_owned() });
    let monitor = RecordingMonitor::new();
    publish(&options, &monitor).unwrap();
    assert!(!document(&options, "resourcedump.xml").exists());
    let problems = monitor.seen().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].what.contains("has no file here"), "{problems:?}");
}

#[test]
fn changes_are_packed_as_often_as_the_operator_says() {
    let (root, mut options) = folder(&[("a", "one")]);
    options.dumps.changes = true;
    options.dumps.changes_every = Some(Duration::from_secs(3_600));
    publish(&options, &NoMonitor).unwrap();
    fs::write(root.path().join("a"), "two").unwrap();
    publish(&options, &NoMonitor).unwrap();
    assert!(read(&options, "changedump.xml").1.is_empty(), "no change is an hour old");
    options.dumps.changes_every = Some(Duration::ZERO);
    publish(&options, &NoMonitor).unwrap();
    assert_eq!(read(&options, "changedump.xml").1.len(), 1);
}

/// Returns the lines of a package of changes, with the bytes they lead to.
fn states(options: &PublishOptions, package: &Entry) -> Vec<(Uri, Change, String)> {
    let file = File::open(document(options, &name_of(&package.loc))).unwrap();
    let mut open = Package::open(file, PackageLimits::new()).unwrap();
    let Document::ChangeDumpManifest(manifest) = open.read_manifest(ReadOptions::new()).unwrap() else {
        panic!()
    };
    assert_eq!(
        open.members().count(),
        manifest.entries.iter().filter(|it| it.metadata.path.is_some()).count() + 1
    );
    let line = |entry: &Entry| {
        let metadata = &entry.metadata;
        assert!(metadata.datetime >= package.metadata.from && metadata.datetime <= package.metadata.until);
        let mut text = String::new();
        if let Some(path) = &metadata.path {
            open.bitstream(path).unwrap().read_to_string(&mut text).unwrap();
        }
        (entry.loc.clone(), metadata.change.clone().unwrap(), text)
    };
    manifest.entries.iter().map(line).collect()
}

#[test]
fn superseded_dumps_go_to_the_archives() {
    let (root, mut options) = folder(&[("a", "one")]);
    options.archives = Some(Archives::default());
    options.dumps.changes = true;
    options.dumps.every = Duration::ZERO;
    options.lists.closed_lists = 2;
    for round in 0..4 {
        if round == 1 {
            assert!(read(&options, "resourcedump-archive.xml").1.is_empty(), "linked to from the beginning");
            assert!(read(&options, "changedump-archive.xml").1.is_empty());
        }
        fs::write(root.path().join("a"), format!("text {round:>round$}")).unwrap();
        publish(&options, &NoMonitor).unwrap();
    }
    let (header, dumps) = read(&options, "resourcedump-archive.xml");
    assert_eq!((header.capability(), dumps.len()), (Some(&Capability::ResourceDumpArchive), 3));
    for archived in &dumps {
        let (header, packages) = read(&options, &name_of(&archived.loc));
        assert_eq!(header.metadata.unwrap().at, archived.metadata.at);
        assert_eq!(unpack(&options, &packages[0]).len(), 1);
    }
    let (_, closed) = read(&options, "changedump-archive.xml");
    let (header, packages) = read(&options, &name_of(&closed[0].loc));
    assert_eq!((closed.len(), packages.len()), (1, 2));
    assert_eq!(header.metadata.unwrap().until, closed[0].metadata.until);
    assert_eq!(states(&options, &packages[1]).len(), 1);
    let (_, left) = read(&options, "changedump.xml");
    assert_eq!(left[0].metadata.from, closed[0].metadata.until);
}
