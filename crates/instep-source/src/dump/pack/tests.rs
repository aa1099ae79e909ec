//! Packages of resources whose bytes cannot be had.

use std::{fs, ops::ControlFlow, os::unix::fs::symlink, path::PathBuf};

use resourcesync::{
    Capability, DateTime, Form, Hasher, Link, Relation, Uri,
    package::{Package, PackageLimits},
};

use super::*;
use crate::{
    Content, DumpPolicy, NoMonitor, PublishOptions, Publisher, RecordingMonitor, ResourceState, Supplied,
    Supplier, Supply,
    catalogue::{Catalogue, Resource},
    publish,
    scan::{ScanOptions, scan},
};

/// Has two resources; the bytes of the second one cannot be had for a reason.
#[derive(Debug)]
struct Failing(PathBuf, io::ErrorKind);

impl Supplier for Failing {
    fn folder(&self) -> &Path {
        &self.0
    }

    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()> {
        for name in ["a", "b"] {
            let mut hasher = Hasher::new([&Algorithm::Sha256]);
            hasher.update(name.as_bytes());
            let state =
                ResourceState { length: Some(1), digests: hasher.finish(), ..ResourceState::default() };
            let _ = take(Supplied::new(name, state));
        }
        Ok(())
    }

    fn at(&self, _: &[u8]) -> io::Result<Option<Supplied>> {
        Ok(None)
    }

    fn open(&self, path: &[u8]) -> Option<io::Result<File>> {
        let open = || {
            if path == b"b" {
                return Err(io::Error::new(self.1, "not now"));
            }
            let mut file = tempfile::tempfile()?;
            file.write_all(path)?;
            file.rewind()?;
            Ok(file)
        };
        Some(open())
    }

    fn has_bytes(&self, _: &[u8]) -> Option<bool> {
        Some(true)
    }
}

/// Returns the names of the members in the package of both resources.
fn packed(reason: io::ErrorKind) -> Result<Vec<String>, Error> {
    let folder = tempfile::tempdir().unwrap();
    let supply = Supply(Arc::new(Failing(folder.path().to_owned(), reason)));
    let mut options = PublishOptions::new(folder.path(), "http://example.org/");
    options.sets[0].content = vec![Content::Supplied { supply, prefix: None }];
    let catalogue = Catalogue::open(&folder.path().join(".catalogue")).unwrap();
    let holdings = Holdings::new(&options, &catalogue).unwrap();
    scan(&holdings, &catalogue, &ScanOptions::new(&options), &NoMonitor).unwrap();
    let resources: Vec<Resource> =
        catalogue.snapshot().unwrap().resources(1).collect::<Result<_, _>>().unwrap();
    assert_eq!(resources.len(), 2);
    let packer = Packer {
        holdings: &holdings,
        spool: None,
        out: None,
        base: "http://example.org/",
        write: &WriteOptions::new(),
        monitor: &NoMonitor,
        unreadable: &Cell::new(0),
        gone: &Cell::new(0),
    };
    let mut header = Header::new(Form::List, Capability::ResourceDumpManifest);
    header.metadata.get_or_insert_default().at = Some(DateTime::from_unix_seconds(0));
    header.links.push(Link::new(Relation::Up, Uri::parse("http://example.org/list.xml").unwrap()));
    let contents = resources.into_iter().map(ItemContent::Resource).collect();
    let mut file = tempfile::tempfile().unwrap();
    packer.pack_into(&mut file, "x.zip", &header, contents)?;
    let mut package = Package::open(file, PackageLimits::new()).unwrap();
    Ok(package.members().map(|member| member.unwrap().name.into_string()).collect())
}

#[test]
fn o460_a_fault_that_is_not_one_of_a_single_file_makes_no_package_without_its_resources() {
    for away in [io::ErrorKind::Other, io::ErrorKind::TimedOut] {
        let fault = packed(away).unwrap_err();
        assert!(matches!(fault, Error::Package { .. }), "{fault:?}");
    }
    for own in [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied] {
        assert_eq!(packed(own).unwrap(), ["manifest.xml", "a"], "{own}");
    }
}

#[test]
fn o482_a_resource_that_cannot_be_read_for_a_package_counts_as_left_out() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", "b.txt"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    let mut options = PublishOptions::new(folder.path(), "http://example.org/");
    publish(&options, &NoMonitor).unwrap();
    // A link is not followed, so it cannot be read, also by a test that may read everything.
    fs::remove_file(folder.path().join("a.txt")).unwrap();
    symlink("b.txt", folder.path().join("a.txt")).unwrap();
    options.dumps.policy = DumpPolicy::Always;
    let monitor = RecordingMonitor::new();
    let job = Publisher::open(options).unwrap().dump_job(&NoMonitor).unwrap().unwrap();
    assert_eq!(job.build(&monitor).unwrap().unreadable, 1);
    let problems = monitor.seen().problems;
    assert!(problems.iter().any(|it| it.skipped && it.subject.ends_with("a.txt")), "{problems:?}");
}

#[test]
fn o642_a_resource_that_compresses_too_well_for_readers_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("blank.bmp"), vec![0; 3 << 20]).unwrap();
    let rows: String = (0..200_000).map(|row| format!("{row}\n")).collect();
    fs::write(folder.path().join("rows.txt"), rows).unwrap();
    let mut options = PublishOptions::new(folder.path(), "http://example.org/");
    options.dumps.policy = DumpPolicy::Always;
    publish(&options, &NoMonitor).unwrap();
    let files = fs::read_dir(folder.path().join("resourcesync")).unwrap().map(|file| file.unwrap().path());
    let mut packages = files.filter(|path| path.extension().is_some_and(|end| end == "zip"));
    let package = File::open(packages.next().unwrap()).unwrap();
    let mut package = Package::open(package, PackageLimits::new()).unwrap();
    assert_eq!(package.unusable().0, 0);
    let members = package.members().map(|member| member.unwrap());
    let members: Vec<_> = members.map(|member| (member.name.into_string(), member.deflated)).collect();
    let expected = [("manifest.xml", true), ("blank.bmp", false), ("rows.txt", true)];
    assert_eq!(members, expected.map(|(name, deflated)| (name.to_owned(), deflated)));
}
