//! A Source that offers patches, and a Destination that has nothing else to fetch.

use std::{fs, path::Path};

use instep_destination::{SyncOptions, SyncReport, VoidMonitor, sync};
use instep_source::{PatchOptions, PublishOptions, publish};
use instep_testkit::{FakeSource, Fault};
use tempfile::TempDir;

/// A published folder, the server that has its files, and a copy.
struct Place {
    server: FakeSource,
    home: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { server: FakeSource::start(), home: TempDir::new().unwrap() };
        fs::create_dir(place.files()).unwrap();
        place.write("a.json", json(7).as_bytes());
        place.write("b.xml", xml(7).as_bytes());
        place.write("c.bin", &binary(7));
        place.publish();
        place
    }

    fn files(&self) -> std::path::PathBuf {
        self.home.path().join("files")
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.files().join(name), bytes).unwrap();
    }

    fn change_all(&self) {
        self.write("a.json", json(8).as_bytes());
        self.write("b.xml", xml(8).as_bytes());
        self.write("c.bin", &binary(8));
    }

    /// Publishes, and serves the files as they are then.
    fn publish(&self) {
        let mut options = PublishOptions::new(self.files(), self.server.url(""));
        options.patches = Some(PatchOptions::default());
        publish(&options, &instep_source::NoMonitor).unwrap();
        self.serve(&self.files(), "");
    }

    fn serve(&self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true if name == ".instep" => {}
                true => self.serve(&entry.path(), &(name + "/")),
                false => self.server.serve(&name, fs::read(entry.path()).unwrap()),
            }
        }
    }

    fn sync(&self) -> SyncReport {
        self.server.forget_requests();
        let options = SyncOptions::new(self.server.url(""), self.home.path().join("copy"));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(sync(&options, &VoidMonitor)).unwrap()
    }

    fn requested(&self, part: &str) -> usize {
        self.server.requests().iter().filter(|request| request.path.contains(part)).count()
    }

    fn assert_copied(&self) {
        for name in ["a.json", "b.xml", "c.bin"] {
            let copy = fs::read(self.home.path().join("copy").join(name)).unwrap();
            assert_eq!(copy, fs::read(self.files().join(name)).unwrap(), "{name}");
        }
    }
}

fn json(version: u32) -> String {
    let items: Vec<_> =
        (0..50).map(|n| format!("{{\"n\": {n}, \"v\": {}}}", if n == 9 { version } else { 0 })).collect();
    let value: serde_json::Value = serde_json::from_str(&format!("[{}]", items.join(","))).unwrap();
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

fn xml(version: u32) -> String {
    let items: String = (0..50)
        .map(|n| format!("  <i n=\"{n}\"><!-- {} -->t</i>\n", if n == 9 { version } else { 0 }))
        .collect();
    format!("<?xml version=\"1.0\"?>\n<r xmlns=\"urn:r\">\n{items}</r>\n")
}

fn binary(version: u8) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        (0..60_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    bytes.splice(1_000..1_000 + usize::from(version), [version; 40]);
    bytes
}

#[test]
fn changed_json_xml_and_bytes_come_as_patches_alone() {
    let place = Place::new();
    place.sync();
    place.change_all();
    place.publish();
    assert_eq!(place.sync().updated, 3);
    place.assert_copied();
    for extension in [".json-patch", ".xml-patch", ".vcdiff"] {
        assert_eq!(place.requested(extension), 1, "{extension}");
    }
    for name in ["a.json", "b.xml", "c.bin"] {
        assert_eq!(place.requested(name), 0, "{name}");
    }
}

#[test]
fn a_damaged_patch_costs_no_more_than_the_resource() {
    let place = Place::new();
    place.sync();
    place.change_all();
    place.publish();
    let patches = place.files().join("resourcesync/patches/000000");
    for patch in fs::read_dir(&patches).unwrap().map(|entry| entry.unwrap().path()) {
        let mut bytes = fs::read(&patch).unwrap();
        let middle = bytes.len() * 3 / 4;
        bytes[middle] ^= 1;
        fs::write(&patch, bytes).unwrap();
    }
    place.serve(&place.files(), "");
    assert_eq!(place.sync().exit_code(), 0);
    place.assert_copied();
    assert_eq!((place.requested("/patches/"), place.requested("c.bin")), (3, 1));
}

#[test]
fn several_changes_of_a_resource_come_as_the_patches_of_each() {
    let place = Place::new();
    place.sync();
    for version in 8..11 {
        place.write("c.bin", &binary(version));
        place.publish();
    }
    assert_eq!(place.sync().updated, 1);
    place.assert_copied();
    assert_eq!((place.requested(".vcdiff"), place.requested("c.bin")), (3, 0));
}

#[test]
fn where_a_patch_between_is_gone_the_resource_itself_is_fetched() {
    let place = Place::new();
    place.sync();
    place.write("c.bin", &binary(8));
    place.publish();
    let patches = place.files().join("resourcesync/patches/000000");
    let patch = fs::read_dir(&patches).unwrap().next().unwrap().unwrap().path();
    let served = patch.strip_prefix(place.files()).unwrap().to_str().unwrap().to_owned();
    place.write("c.bin", &binary(9));
    place.publish();
    place.server.fail_always(&served, Fault::Status(410));
    assert_eq!(place.sync().exit_code(), 0);
    place.assert_copied();
    assert_eq!((place.requested(".vcdiff"), place.requested("c.bin")), (1, 1));
}
