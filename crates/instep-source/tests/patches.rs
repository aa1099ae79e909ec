//! Patches as a Source publishes them (§14.4).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, io::Read, path::Path, sync::mpsc, thread, time::Duration};

use instep_source::{
    NoMonitor, PatchOptions, PublishOptions, Publisher, ReportedChange, backup, publish, restore,
};
use resourcesync::{
    Algorithm, DocumentReader, Entry, Hasher, Link, ReadOptions, Relation, Uri,
    package::{Package, PackageLimits},
    patch::PatchFormat,
};
use tempfile::TempDir;

const MOST: usize = 1 << 20;

fn source() -> (TempDir, PublishOptions) {
    let folder = TempDir::new().unwrap();
    let mut options = PublishOptions::new(folder.path(), "http://example.com/");
    options.patches = Some(PatchOptions::default());
    (folder, options)
}

fn text(version: &str) -> String {
    format!("{}{version}{}", "first ".repeat(200), " last".repeat(200))
}

fn publish_as(options: &PublishOptions, name: &str, text: &str) {
    fs::write(options.out.join(name), text).unwrap();
    publish(options, &NoMonitor).unwrap();
}

fn entries(path: &Path) -> Vec<Entry> {
    let bytes = fs::read(path).unwrap();
    let mut reader = DocumentReader::new(&bytes[..], ReadOptions::new()).unwrap();
    let (mut entries, mut entry) = (Vec::new(), Entry::default());
    while reader.read_entry(&mut entry).unwrap() {
        entries.push(entry.clone());
    }
    entries
}

fn changes(options: &PublishOptions, list: u32) -> Vec<Entry> {
    entries(&options.out.join(format!("resourcesync/changelist-{list:06}.xml")))
}

fn patch_of(entry: &Entry) -> Option<&Link> {
    entry.link_for(&Relation::Patch)
}

fn bytes_of(options: &PublishOptions, link: &Link) -> Option<Vec<u8>> {
    fs::read(options.out.join(link.href.as_str().strip_prefix("http://example.com/")?)).ok()
}

#[test]
fn each_change_has_the_patch_from_the_state_before_it() {
    let (_folder, options) = source();
    publish_as(&options, "a.txt", &text("one"));
    publish_as(&options, "a.txt", &text("two"));
    publish_as(&options, "a.txt", &text("three"));
    let changes = changes(&options, 1);
    assert_eq!(changes.len(), 2);
    for (change, (before, after)) in changes.iter().zip([("one", "two"), ("two", "three")]) {
        let link = patch_of(change).unwrap();
        let patch = bytes_of(&options, link).unwrap();
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        hasher.update(&patch);
        assert_eq!((link.length, &link.hash), (Some(patch.len() as u64), &hasher.finish()));
        assert!(link.modified.is_some());
        let format = PatchFormat::of(link.media_type.as_ref().unwrap()).unwrap();
        let made = format.apply(text(before).as_bytes(), &patch, &change.metadata.hash, MOST).unwrap();
        assert_eq!(made, text(after).as_bytes());
    }
}

#[test]
fn what_a_patch_would_not_save_has_none() {
    let (_folder, mut options) = source();
    publish_as(&options, "a.txt", &text("one"));
    publish_as(&options, "a.txt", &(0..400).map(|n| format!("{n:x} ")).collect::<String>());
    assert_eq!(patch_of(&changes(&options, 1)[0]), None, "another text altogether");

    options.patches.as_mut().unwrap().most_bytes = 100;
    publish_as(&options, "b.txt", &text("one"));
    publish_as(&options, "b.txt", &text("two"));
    let list = changes(&options, 1);
    assert_eq!((list.len(), patch_of(&list[2])), (3, None), "a resource that is too large");
}

#[test]
fn a_source_that_begins_to_offer_patches_has_them_from_then_on() {
    let (_folder, mut options) = source();
    let patches = options.patches.take();
    publish_as(&options, "a.txt", &text("one"));
    publish_as(&options, "a.txt", &text("two"));
    options.patches = patches;
    let report = publish(&options, &NoMonitor).unwrap();
    assert_eq!(report.kept_states.unwrap().states, 1);
    publish_as(&options, "a.txt", &text("three"));
    let changes = changes(&options, 1);
    assert_eq!(changes.iter().map(|change| patch_of(change).is_some()).collect::<Vec<_>>(), [false, true]);
    assert!(publish(&options, &NoMonitor).unwrap().is_nothing_new());
}

#[test]
fn who_records_beside_a_source_keeps_the_states_that_patches_need_and_no_others() {
    let (folder, mut options) = source();
    options.patches.as_mut().unwrap().most_bytes = 10;
    publish_as(&options, "a.txt", "one");
    publish_as(&options, "large.txt", &text("one"));
    let kept = |options: &PublishOptions| fs::read_dir(options.state.join("states")).unwrap().count();
    assert_eq!(kept(&options), 1);
    fs::write(folder.path().join("a.txt"), "two").unwrap();
    fs::write(folder.path().join("large.txt"), text("two")).unwrap();
    let said = ["a.txt", "large.txt"].map(|name| format!("http://example.com/{name}"));
    let said = said.map(|uri| ReportedChange::add(Uri::parse(&uri).unwrap()));
    let recorded = Publisher::reopen(&options.state).unwrap().record(said.to_vec(), &NoMonitor).unwrap();
    assert_eq!((recorded.updated, kept(&options)), (2, 2));
}

#[test]
fn o433_present_states_are_kept_once_more_of_them_are_needed_or_after_a_time_without() {
    let (_folder, mut options) = source();
    options.patches.as_mut().unwrap().most_bytes = 10;
    publish_as(&options, "a.txt", "one");
    publish_as(&options, "large.txt", &text("one"));
    let kept = |options: &PublishOptions| publish(options, &NoMonitor).unwrap().kept_states.unwrap().states;
    assert_eq!(kept(&options), 1);
    options.patches.as_mut().unwrap().most_bytes = 1 << 20;
    assert_eq!(kept(&options), 2, "a larger one");
    let patches = options.patches.take();
    publish_as(&options, "a.txt", "two");
    options.patches = patches;
    assert_eq!(kept(&options), 3, "one that came meanwhile");
}

#[test]
fn a_change_dump_holds_the_patch_by_its_path() {
    let (_folder, mut options) = source();
    options.dumps.changes = true;
    publish_as(&options, "a.txt", &text("one"));
    publish_as(&options, "a.txt", &text("two"));
    let dump = &entries(&options.out.join("resourcesync/changedump.xml"))[0];
    let name = dump.loc.as_str().rsplit('/').next().unwrap();
    let package = fs::File::open(options.out.join("resourcesync").join(name)).unwrap();
    let mut package = Package::open(package, PackageLimits::new()).unwrap();
    let copy = dump.link_for(&Relation::Contents).unwrap().href.as_str().rsplit('/').next().unwrap();
    let manifest = entries(&options.out.join("resourcesync").join(copy));
    let link = patch_of(&manifest[0]).unwrap();
    let mut packed = Vec::new();
    package.bitstream(link.path.as_ref().unwrap()).unwrap().read_to_end(&mut packed).unwrap();
    assert_eq!(Some(packed), bytes_of(&options, link));
}

#[test]
fn patches_go_with_the_lists_that_named_them() {
    let (_folder, mut options) = source();
    options.lists.rotation.entries = 100;
    options.lists.closed_lists = 0;
    let write_all = |version: &str| {
        (0..100).for_each(|number| fs::write(options.out.join(number.to_string()), text(version)).unwrap());
        publish(&options, &NoMonitor).unwrap();
    };
    ["one", "two", "three", "four", "five", "six", "seven"].into_iter().for_each(write_all);
    let folders = fs::read_dir(options.out.join("resourcesync/patches")).unwrap().count();
    assert!(folders <= 4, "{folders} folders for 600 changes");
    let missing = |change: &Entry| patch_of(change).is_some_and(|link| bytes_of(&options, link).is_none());
    assert!(!changes(&options, 6).iter().any(missing));
}

/// After a restoration the log has no change: the lists begin anew.
#[test]
fn o432_patches_that_are_offered_again_do_not_wait_for_changes_that_the_log_no_longer_has() {
    let (folder, mut options) = source();
    publish_as(&options, "a.txt", &text("one"));
    publish_as(&options, "a.txt", &text("two"));
    let patches = options.patches.take();
    publish_as(&options, "a.txt", &text("three"));
    let file = folder.path().join(".backup.zip");
    backup(&options.state, &file).unwrap();
    fs::rename(&options.state, folder.path().join(".lost")).unwrap();
    restore(&file, &options.state).unwrap();
    publish(&options, &NoMonitor).unwrap();
    options.patches = patches;
    let (done, ended) = mpsc::channel();
    let publishing = options.clone();
    thread::spawn(move || done.send(publish(&publishing, &NoMonitor).map(drop)));
    ended.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
    publish_as(&options, "a.txt", &text("four"));
    let last = entries(&options.out.join("resourcesync/changelist.xml")).pop().unwrap();
    let list = last.loc.as_str().rsplit('/').next().unwrap();
    let changes = entries(&options.out.join("resourcesync").join(list));
    assert!(patch_of(changes.last().unwrap()).is_some());
}
