//! Batches of a Source, as a reader opens them.

use std::{fs, io::Read};

use resourcesync::{
    Change, DateTime, Document, PackagePath, ReadOptions, Uri,
    package::{Package, PackageLimits},
};
use tempfile::TempDir;

use crate::{
    CodingRule, Content, Error, NoMonitor, PublishOptions, Publisher, ReportedChange, SetOptions,
    dump::{BatchRequest, BatchSelection},
};

fn folder(files: &[(&str, &str)]) -> (TempDir, PublishOptions) {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let options = PublishOptions::new(root.path(), "http://example.com/data");
    (root, options)
}

fn uri(name: &str) -> Uri {
    Uri::parse(&format!("http://example.com/data/{name}")).unwrap()
}

/// The manifest and the texts of a batch.
fn batch(publisher: &Publisher, selection: BatchSelection) -> Result<(Document, Vec<String>), Error> {
    let batches = publisher.context().batches();
    let selected = batches.select(&BatchRequest::new(0, selection))?;
    let mut file = tempfile::tempfile().unwrap();
    batches.build(selected, &mut file, &NoMonitor)?;
    let mut package = Package::open(file, PackageLimits::new()).unwrap();
    let manifest = package.read_manifest(ReadOptions::new()).unwrap();
    let names = package.members().map(|member| member.unwrap().name);
    let names: Vec<_> = names.filter(|name| &**name != "manifest.xml").collect();
    let read = |name: Box<str>| {
        let mut text = String::new();
        package.bitstream(&PackagePath::new(&name)).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    Ok((manifest, names.into_iter().map(read).collect()))
}

#[test]
fn a_batch_of_uris_holds_each_once_and_unknown_ones_are_named() {
    let (_root, options) = folder(&[("a", "one"), ("b/c", "two"), ("d", "three")]);
    let mut publisher = Publisher::open(options).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    let chosen = BatchSelection::Resources(vec![uri("d"), uri("a"), uri("d")]);
    let (manifest, mut texts) = batch(&publisher, chosen).unwrap();
    let Document::ResourceDumpManifest(manifest) = manifest else { panic!("{manifest:?}") };
    assert_eq!(manifest.entries.len(), 2);
    texts.sort();
    assert_eq!(texts, ["one", "three"]);

    let unknown = batch(&publisher, BatchSelection::Resources(vec![uri("a"), uri("x"), uri("../a")]));
    let Err(Error::UnknownResources { uris }) = unknown else { panic!("{unknown:?}") };
    assert_eq!(uris, [uri("x").to_string(), uri("../a").to_string()]);

    let mut batches = publisher.context().batches();
    let all = BatchRequest::new(0, BatchSelection::Resources(vec![uri("a"), uri("d")]));
    batches.limits.bytes = 7;
    assert!(matches!(batches.select(&all), Err(Error::TooMuch { what: "bytes", most: 7 })));
    batches.limits.resources = 1;
    assert!(matches!(batches.select(&all), Err(Error::TooMuch { what: "resources", most: 1 })));
    let turned = BatchRequest::new(0, BatchSelection::Resources(vec![uri("d"), uri("a"), uri("a")]));
    let batches = publisher.context().batches();
    assert_eq!(batches.select(&all).unwrap().key, batches.select(&turned).unwrap().key);
}

#[test]
fn a_batch_of_files_that_all_moved_on_holds_them_as_they_are() {
    let names: Vec<String> = (0..8).map(|number| format!("f{number}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "as recorded")).collect();
    let (root, options) = folder(&files);
    let mut publisher = Publisher::open(options).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    for name in &names[1..] {
        fs::write(root.path().join(name), format!("{name} as it is")).unwrap();
    }
    fs::remove_file(root.path().join("f0")).unwrap();
    let all = BatchSelection::Resources(names.iter().map(|name| uri(name)).collect());
    let (manifest, texts) = batch(&publisher, all).unwrap();
    let Document::ResourceDumpManifest(manifest) = manifest else { panic!("{manifest:?}") };
    let expected: Vec<String> = names[1..].iter().map(|name| format!("{name} as it is")).collect();
    assert_eq!(texts, expected);
    assert_eq!(manifest.entries.len(), expected.len());
    assert!(manifest.entries.iter().all(|entry| entry.metadata.length == Some(11)));
}

#[test]
fn a_batch_since_a_time_holds_the_last_change_of_each_resource_and_deletions() {
    let (root, options) = folder(&[("a", "one"), ("b", "two"), ("c", "three")]);
    let mut publisher = Publisher::open(options).unwrap();
    let at = publisher.publish(&NoMonitor).unwrap().at;
    for text in ["1", "22"] {
        fs::write(root.path().join("a"), text).unwrap();
        publisher.publish(&NoMonitor).unwrap();
    }
    fs::remove_file(root.path().join("b")).unwrap();
    fs::write(root.path().join("d"), "new").unwrap();
    publisher.publish(&NoMonitor).unwrap();
    let (manifest, texts) = batch(&publisher, BatchSelection::Since(at)).unwrap();
    let Document::ChangeDumpManifest(manifest) = manifest else { panic!("{manifest:?}") };
    let changes: Vec<_> =
        manifest.entries.iter().map(|it| (it.loc.clone(), it.metadata.change.clone().unwrap())).collect();
    assert_eq!(changes[0], (uri("a"), Change::Updated));
    assert!(changes.contains(&(uri("b"), Change::Deleted)) && changes.contains(&(uri("d"), Change::Created)));
    assert_eq!(texts, ["22", "new"]);

    let early = DateTime::from_unix_micros(at.unix_micros() - 1);
    assert!(
        matches!(batch(&publisher, BatchSelection::Since(early)), Err(Error::TooEarly { from }) if from == at)
    );
}

#[test]
fn o908_a_batch_describes_resources_by_the_rules_of_their_set() {
    let (root, mut options) = folder(&[("a.txt.gz", "coded")]);
    options.sets[0].codings = vec![CodingRule::new("*.gz", "gzip")];
    let mut publisher = Publisher::open(options).unwrap();
    let at = publisher.publish(&NoMonitor).unwrap().at;
    let chosen = BatchSelection::Resources(vec![uri("a.txt.gz")]);
    let (manifest, _) = batch(&publisher, chosen).unwrap();
    let Document::ResourceDumpManifest(manifest) = manifest else { panic!("{manifest:?}") };
    assert_eq!(manifest.entries[0].metadata.encoding.as_deref(), Some("gzip"));

    fs::write(root.path().join("a.txt.gz"), "coded again").unwrap();
    publisher.publish(&NoMonitor).unwrap();
    let (manifest, _) = batch(&publisher, BatchSelection::Since(at)).unwrap();
    let Document::ChangeDumpManifest(manifest) = manifest else { panic!("{manifest:?}") };
    assert_eq!(manifest.entries[0].metadata.encoding.as_deref(), Some("gzip"));
}

#[test]
fn o908_a_resource_that_manifests_of_two_sets_name_is_in_batches_of_both() {
    let (root, mut options) = folder(&[("a", "one")]);
    let lists = tempfile::tempdir().unwrap();
    options.sets = ["first", "second"]
        .map(|name| {
            let path = lists.path().join(format!("{name}.jsonl"));
            fs::write(&path, r#"{"uri":"http://example.com/records/1","path":"a"}"#).unwrap();
            let content = vec![Content::Manifest { path, root: root.path().to_owned() }];
            SetOptions { name: name.to_owned(), content, ..SetOptions::new() }
        })
        .into();
    let mut publisher = Publisher::open(options).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    let record = Uri::parse("http://example.com/records/1").unwrap();
    let select = |set| {
        let selection = BatchSelection::Resources(vec![record.clone()]);
        publisher.context().batches().select(&BatchRequest::new(set, selection))
    };
    for set in 0..2 {
        assert_eq!(select(set).unwrap().resources, 1, "{set}");
    }
    publisher.record(vec![ReportedChange::remove(record.clone())], &NoMonitor).unwrap();
    for set in 0..2 {
        assert!(matches!(select(set), Err(Error::UnknownResources { .. })), "{set}");
    }
}
