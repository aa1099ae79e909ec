//! The dumps: of the snapshot, and of the changes.

use std::io::Write as _;

use resourcesync::{Capability, Change, Entry, Form, Header, Link, MediaType, PackagePath, Relation};

use super::{
    documents::{BATCH, CAPABILITY_LIST, CHANGE_DUMP, DUMP, at, header, span, write},
    shelf::{FakeShelf, Interval},
};

/// The content of a package: entries, with their bytes if they have any.
type PackageContent = Vec<(Entry, Option<Vec<u8>>)>;

/// Returns the dump, package or copy of a manifest at a path; `None` if there is none.
pub(super) fn render(shelf: &FakeShelf, path: &str) -> Option<Vec<u8>> {
    let layout = &shelf.layout;
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    if layout.dump && path == DUMP {
        let mut entry = package_entry(shelf, "resourcedump", &resources(shelf));
        entry.metadata.at = Some(shelf.at);
        return Some(write(&at(list(shelf, Capability::ResourceDump), shelf.at), &[entry]));
    }
    if layout.dump && stem.starts_with("resourcedump") {
        return packed(path, "resourcedump", &resources(shelf));
    }
    if layout.batch && path == BATCH {
        let (manifest, held) = resources(shelf);
        return Some(zipped(&manifest, &held));
    }
    if !layout.change_dump {
        return None;
    }
    if path == CHANGE_DUMP {
        return Some(change_dump(shelf));
    }
    let interval = closed(shelf).find(|interval| stem.starts_with(&name(interval)))?;
    if layout.change_dump_index && path == format!("{}.xml", name(interval)) {
        return Some(dump_of(shelf, &[interval]));
    }
    packed(path, &name(interval), &changes(shelf, interval))
}

fn closed(shelf: &FakeShelf) -> impl Iterator<Item = &Interval> {
    shelf.intervals.iter().filter(|interval| interval.until.is_some())
}

fn name(interval: &Interval) -> String {
    format!("changedump-{:06}", interval.number)
}

fn list(shelf: &FakeShelf, capability: Capability) -> Header {
    header(shelf, Form::List, capability, CAPABILITY_LIST)
}

fn change_dump(shelf: &FakeShelf) -> Vec<u8> {
    let intervals: Vec<_> = closed(shelf).collect();
    if !shelf.layout.change_dump_index {
        return dump_of(shelf, &intervals);
    }
    let first = intervals.first().map_or(shelf.at, |first| first.from);
    let header = header(shelf, Form::Index, Capability::ChangeDump, CAPABILITY_LIST);
    let member = |interval: &&Interval| {
        let mut entry = Entry::new(shelf.uri(&format!("{}.xml", name(interval))));
        (entry.metadata.from, entry.metadata.until) = (Some(interval.from), interval.until);
        entry
    };
    write(&span(header, first, None), &intervals.iter().map(member).collect::<Vec<_>>())
}

fn dump_of(shelf: &FakeShelf, intervals: &[&Interval]) -> Vec<u8> {
    let first = intervals.first().map_or(shelf.at, |first| first.from);
    let package = |interval: &&Interval| {
        let mut entry = package_entry(shelf, &name(interval), &changes(shelf, interval));
        (entry.metadata.from, entry.metadata.until) = (Some(interval.from), interval.until);
        shelf.publish(&format!("{}.zip", name(interval)), &entry)
    };
    let header = span(list(shelf, Capability::ChangeDump), first, None);
    write(&header, &intervals.iter().map(package).collect::<Vec<_>>())
}

fn package_entry(shelf: &FakeShelf, stem: &str, (manifest, held): &(Vec<u8>, PackageContent)) -> Entry {
    let mut entry = Entry::new(shelf.uri(&format!("{stem}.zip")));
    entry.metadata.media_type = Some(MediaType::new("application/zip"));
    entry.metadata.length = Some(zipped(manifest, held).len() as u64);
    if shelf.layout.contents {
        entry.links.push(Link::new(Relation::Contents, shelf.uri(&format!("{stem}-manifest.xml"))));
    }
    entry
}

/// Returns the package at a path, or the copy of its manifest.
fn packed(path: &str, stem: &str, (manifest, held): &(Vec<u8>, PackageContent)) -> Option<Vec<u8>> {
    match path.strip_prefix(stem)? {
        ".zip" => Some(zipped(manifest, held)),
        "-manifest.xml" => Some(manifest.clone()),
        _ => None,
    }
}

/// Returns the resources of the snapshot that still exist.
fn resources(shelf: &FakeShelf) -> (Vec<u8>, PackageContent) {
    let held = shelf.snapshot.iter().enumerate().filter_map(|(number, (path, entry))| {
        let mut entry = shelf.publish(path, entry);
        entry.metadata.path = Some(PackagePath::new(&format!("/resources/{number:06}")));
        Some((entry, Some(shelf.pack(path, &shelf.resources.get(path)?.bytes))))
    });
    with_manifest(&at(list(shelf, Capability::ResourceDumpManifest), shelf.at), held.collect())
}

/// Returns the changes of an interval; a deletion has no bitstream.
fn changes(shelf: &FakeShelf, interval: &Interval) -> (Vec<u8>, PackageContent) {
    let held = interval.changes.iter().enumerate().map(|(number, one)| {
        let mut entry = one.entry.clone();
        let deleted = entry.metadata.change == Some(Change::Deleted);
        if !deleted {
            entry.metadata.path = Some(PackagePath::new(&format!("/changes/{number:06}")));
        }
        (shelf.publish(&one.path, &entry), (!deleted).then(|| shelf.pack(&one.path, &one.bytes)))
    });
    let header = list(shelf, Capability::ChangeDumpManifest);
    with_manifest(&span(header, interval.from, interval.until), held.collect())
}

fn with_manifest(header: &Header, held: PackageContent) -> (Vec<u8>, PackageContent) {
    (write(header, &held.iter().map(|(entry, _)| entry.clone()).collect::<Vec<_>>()), held)
}

/// Returns a package, the manifest first.
fn zipped(manifest: &[u8], held: &PackageContent) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut add = |name: &str, bytes: &[u8]| {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("a member in memory");
        zip.write_all(bytes).expect("bytes in memory");
    };
    add("manifest.xml", manifest);
    for (entry, bytes) in held {
        let path = entry.metadata.path.as_ref().or(entry.links.iter().find_map(|link| link.path.as_ref()));
        if let (Some(path), Some(bytes)) = (path, bytes) {
            add(path.member().expect("a right path"), bytes);
        }
    }
    zip.finish().expect("a package in memory").into_inner()
}
