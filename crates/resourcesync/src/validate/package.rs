//! Validation of packages: the directory, the manifest, and each bitstream compared with the manifest (ZIP-1 to ZIP-9).

use std::{
    collections::BTreeSet,
    io::{self, BufReader, Cursor, Read, Seek},
};

use super::{
    Validator,
    findings::{Findings, Report},
};
use crate::{
    document::{Entry, Header, Metadata},
    finding::{Position, Severity},
    package::{Directory, FoundMember, MANIFEST, Package, PackageError, PackageLimits, PackageProblem},
    value::{Capability, Digests, Hasher, PackagePath, Relation},
};

/// The findings about a package and its manifest.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PackageReport {
    /// The report about the package. Its findings have no line.
    pub package: Report,
    /// The report about `manifest.xml`; `None` if it could not be reached.
    pub manifest: Option<Report>,
}

/// The statements of the manifest about a bitstream.
struct Promise {
    path: PackagePath,
    length: Option<u64>,
    hash: Digests,
    position: Position,
    /// The rule that requires the member, beside ZIP-6.
    rule: &'static str,
}

impl Validator {
    /// Validates a package, and reads every bitstream. `dump` is the capability of the dump it belongs to, if known
    /// (ZIP-4).
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn package<R: Read + Seek>(
        &self,
        mut source: R,
        limits: PackageLimits,
        dump: Option<&Capability>,
    ) -> io::Result<PackageReport> {
        let mut out = Findings::new(&self.options);
        let directory = Directory::read(&mut source, limits)?;
        // A fault of the manifest is in both lists, because it is also a reason to refuse the package.
        let unusable = directory.unusable.iter().filter(|problem| !directory.problems.contains(problem));
        for PackageProblem { rule, what } in directory.problems.iter().chain(unusable) {
            let severity = if *rule == "ZIP-1" { Severity::Warning } else { Severity::Error };
            out.weigh(
                rule,
                severity,
                Position::default(),
                what.clone(),
                "a package that every reader reads alike",
            );
        }
        let mut manifest = None;
        if directory.problems.is_empty() {
            let mut package = match Package::open(source, limits) {
                Err(PackageError::Io(error)) => return Err(error),
                Err(_) => return Ok(PackageReport::default()),
                Ok(package) => package,
            };
            manifest = Some(self.manifest(&mut package, dump, &mut out)?);
        }
        let (findings, summary) = out.finish();
        Ok(PackageReport { package: Report { findings, summary, ..Report::default() }, manifest })
    }

    fn manifest<R: Read + Seek>(
        &self,
        package: &mut Package<R>,
        dump: Option<&Capability>,
        out: &mut Findings,
    ) -> io::Result<Report> {
        let mut bytes = Vec::new();
        if let Err(error) = read_manifest(package, self.options.limits.bytes, &mut bytes) {
            let found = format!("a manifest that cannot be read: {}", damage(error)?);
            out.weigh("ZIP-3", Severity::Error, Position::default(), found, "manifest.xml");
            return Ok(Report::default());
        }
        // The reader decompresses it, but others expect XML.
        if bytes.starts_with(&[0x1f, 0x8b]) {
            out.weigh("ZIP-3", Severity::Error, Position::default(), "a compressed manifest.xml", "XML");
        }
        let mut promises = Vec::new();
        let mut changes = 0_u64;
        let report = self.document_with(Cursor::new(bytes), |entry, _| {
            changes += u64::from(entry.metadata.change.is_some());
            promises.extend(promises_of(entry));
        })?;
        let mut judged = Findings::new(&self.options);
        if let Some(header) = &report.header {
            check_kind(header, dump, changes, report.entries, &mut judged);
        }
        self.check_members(package, &promises, &report, &mut judged, out)?;
        Ok(report.with(judged))
    }

    /// Checks that each path has a member and each member a path (ZIP-6), and that lengths and digests are right
    /// (ZIP-9).
    fn check_members<R: Read + Seek>(
        &self,
        package: &mut Package<R>,
        promises: &[Promise],
        report: &Report,
        judged: &mut Findings,
        out: &mut Findings,
    ) -> io::Result<()> {
        let last_only = report.header.as_ref().is_some_and(|header| header.dialect.repeats_paths());
        let named = check_promises(package, promises, last_only, judged)?;
        let is_of_changes =
            report.header.as_ref().and_then(Header::capability) == Some(&Capability::ChangeDumpManifest);
        let rule = if is_of_changes { "CDM-5" } else { "RDM-4" };
        for member in package.members() {
            let member = member?;
            if named.contains(&*member.name) {
                continue;
            }
            let found = format!("the member {:?}, which no entry names", member.name);
            out.weigh(
                "ZIP-6",
                Severity::Warning,
                Position::default(),
                found.clone(),
                "an entry of the manifest",
            );
            out.also(rule, Position::default(), found, "an entry for each bitstream");
        }
        Ok(())
    }
}

/// Compares each bitstream that the manifest names with its member. Returns the names of these members, and that of
/// the manifest.
fn check_promises<R: Read + Seek>(
    package: &mut Package<R>,
    promises: &[Promise],
    last_only: bool,
    judged: &mut Findings,
) -> io::Result<BTreeSet<String>> {
    let mut named = BTreeSet::from([MANIFEST.to_owned()]);
    // In reverse order: in some dialects, only the last of several entries with one path can be verified (CDM-10).
    for promise in promises.iter().rev() {
        match package.find(&promise.path)? {
            // Reported with the directory; the manifest names it all the same.
            FoundMember::Unusable(_) => named.extend(promise.path.member().map(str::to_owned)),
            FoundMember::Member(member) => {
                let fresh = named.insert(member.name.to_string());
                if fresh || !last_only {
                    check_bitstream(package, promise, judged)?;
                }
            }
            FoundMember::Missing => {
                let found = format!("no member for path=\"{}\"", promise.path);
                for rule in ["ZIP-6", promise.rule] {
                    let expected = "a member of the package";
                    judged.weigh(rule, Severity::Error, promise.position, found.clone(), expected);
                }
            }
        }
    }
    Ok(named)
}

impl Report {
    /// Adds further findings about the same document.
    fn with(mut self, findings: Findings) -> Self {
        let (more, summary) = findings.finish();
        self.findings.extend(more);
        self.findings.sort_by_key(|finding| finding.position);
        self.summary.merge(&summary);
        self
    }
}

/// Reads the manifest into memory: the bitstreams are read from the same source.
fn read_manifest<R: Read + Seek>(
    package: &mut Package<R>,
    most: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), PackageError> {
    let manifest = package.bitstream(&PackagePath::new(MANIFEST))?;
    BufReader::new(manifest.take(most)).read_to_end(bytes)?;
    Ok(())
}

/// Returns a fault of the package itself. One that keeps its bytes from being read says nothing about them.
fn damage(error: PackageError) -> io::Result<PackageError> {
    match error {
        PackageError::Io(error) if error.kind() != io::ErrorKind::InvalidData => Err(error),
        error => Ok(error),
    }
}

fn promises_of(entry: &Entry) -> Vec<Promise> {
    let Metadata { path, length, hash, change, .. } = &entry.metadata;
    let rule = if change.is_some() { "CDM-7" } else { "RDM-6" };
    let own = path.iter().map(|path| Promise {
        path: path.clone(),
        length: *length,
        hash: hash.clone(),
        position: entry.places.metadata_or(entry.position),
        rule,
    });
    let links = entry.links.iter().zip(&entry.places.links).filter_map(|(link, at)| {
        Some(Promise {
            path: link.path.clone()?,
            length: link.length,
            hash: link.hash.clone(),
            position: *at,
            rule: if link.rel == Relation::Patch { "CDM-11" } else { "" },
        })
    });
    own.chain(links).collect()
}

fn check_bitstream<R: Read + Seek>(
    package: &mut Package<R>,
    promise: &Promise,
    out: &mut Findings,
) -> io::Result<()> {
    let mut hasher = Hasher::new(promise.hash.verifiable().map(|digest| &digest.algorithm));
    let mut length = 0_u64;
    let mut block = vec![0; 64 << 10];
    let mut bytes = match package.bitstream(&promise.path) {
        Ok(bytes) => bytes,
        // A folder, which is reported by its path (ATT-17).
        Err(error) => return damage(error).map(drop),
    };
    loop {
        match bytes.read(&mut block) {
            Ok(0) => break,
            Ok(amount) => {
                length += amount as u64;
                hasher.update(&block[..amount]);
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let found = format!("{} at path=\"{}\"", error, promise.path);
                out.weigh("ZIP-9", Severity::Error, promise.position, found, "an undamaged bitstream");
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    let mut wrong = |found: String, expected: &str| {
        out.weigh("ZIP-9", Severity::Error, promise.position, found.clone(), expected);
        if promise.rule == "RDM-6" {
            out.also("RDM-8", promise.position, found, expected);
        }
    };
    if promise.length.is_some_and(|promised| promised != length) {
        wrong(format!("another length than the {length} bytes of the bitstream"), "its length");
    }
    let computed = hasher.finish();
    for digest in promise.hash.verifiable() {
        if computed.get(&digest.algorithm).is_some_and(|right| right.value != digest.value) {
            wrong(format!("another {} than that of the bitstream", digest.algorithm), "its digest");
        }
    }
    Ok(())
}

/// Checks that the manifest is that of its dump; of a single package its times and changes show the kind (ZIP-4).
fn check_kind(header: &Header, dump: Option<&Capability>, changes: u64, entries: u64, out: &mut Findings) {
    let at = header.places.metadata_or(header.places.root);
    let found = header.capability();
    let empty = Metadata::new();
    let md = header.metadata.as_ref().unwrap_or(&empty);
    let looks_like_changes = changes > 0 || (md.from.is_some() && md.at.is_none());
    let looks_like_state = (entries > 0 && changes == 0) || (md.at.is_some() && md.from.is_none());
    let expected = match (dump, found) {
        (Some(Capability::ResourceDump), _) => Capability::ResourceDumpManifest,
        (Some(Capability::ChangeDump), _) => Capability::ChangeDumpManifest,
        (_, Some(Capability::ResourceDumpManifest)) if looks_like_changes => Capability::ChangeDumpManifest,
        (_, Some(Capability::ChangeDumpManifest)) if looks_like_state => Capability::ResourceDumpManifest,
        (_, Some(Capability::ResourceDumpManifest | Capability::ChangeDumpManifest)) => return,
        _ if looks_like_changes => Capability::ChangeDumpManifest,
        _ => Capability::ResourceDumpManifest,
    };
    if found != Some(&expected) {
        let found =
            found.map_or_else(|| "no capability".to_owned(), |found| format!("capability=\"{found}\""));
        out.weigh("ZIP-4", Severity::Error, at, found, &format!("capability=\"{expected}\""));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{SeekFrom, Write as _};

    use super::*;
    use crate::{document::ResourceDumpManifest, package::PackageWriter};

    #[test]
    fn o837_a_member_that_is_there_twice_is_one_finding() {
        let manifest = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
                        xmlns:rs='http://www.openarchives.org/rs/terms/'>\
                        <rs:md capability='resourcedump-manifest' at='2013-01-03T09:00:00Z'/>\
                        <rs:ln rel='up' href='http://e.org/caps.xml'/>\
                        <url><loc>http://e.org/a</loc><rs:md path='/twin-one' type='a/b'/></url></urlset>";
        for (name, again) in [("/twin-one", "/twin-two"), ("/manifest.xml", "/manifest.two")] {
            let mut writer = PackageWriter::new(Cursor::new(Vec::new()), manifest.as_bytes()).unwrap();
            for path in ["/twin-one", again] {
                writer.add(&PackagePath::new(path), None, 5, &b"hello"[..]).unwrap();
            }
            let mut zip = writer.finish().unwrap().into_inner();
            let (name, again) = (&name.as_bytes()[1..], &again.as_bytes()[1..]);
            let places: Vec<usize> = memchr::memmem::find_iter(&zip, again).collect();
            for at in places {
                zip[at..at + name.len()].copy_from_slice(name);
            }
            let report = Validator::default().package(Cursor::new(zip), PackageLimits::new(), None).unwrap();
            let findings = report.package.findings;
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].rule, "ZIP-7");
        }
    }

    #[test]
    fn o844_a_manifest_that_is_compressed_by_itself_is_a_finding() {
        let xml = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
                   xmlns:rs='http://www.openarchives.org/rs/terms/'>\
                   <rs:md capability='resourcedump-manifest' at='2013-01-03T09:00:00Z'/>\
                   <rs:ln rel='up' href='http://e.org/caps.xml'/></urlset>";
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(xml.as_bytes()).unwrap();
        for (manifest, errors) in [(xml.as_bytes().to_vec(), 0), (encoder.finish().unwrap(), 1)] {
            let zip = PackageWriter::new(Cursor::new(Vec::new()), &manifest).unwrap().finish().unwrap();
            let report = Validator::default().package(zip, PackageLimits::new(), None).unwrap();
            assert_eq!(report.package.summary.rules.get("ZIP-3").copied().unwrap_or_default(), errors);
        }
    }

    /// A package on a disk that fails once, at one of the steps of its reader.
    struct FailingDisk {
        bytes: Cursor<Vec<u8>>,
        steps_left: u32,
    }

    impl FailingDisk {
        fn step(&mut self) -> io::Result<()> {
            let fails = self.steps_left == 0;
            self.steps_left = self.steps_left.wrapping_sub(1);
            if fails { Err(io::Error::other("the disk fails")) } else { Ok(()) }
        }
    }

    impl Read for FailingDisk {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.step()?;
            self.bytes.read(buffer)
        }
    }

    impl Seek for FailingDisk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.step()?;
            self.bytes.seek(to)
        }
    }

    #[test]
    fn o530_a_package_on_a_failing_disk_is_not_judged() {
        let at = "2013-01-03T09:00:00Z".parse().unwrap();
        let manifest = ResourceDumpManifest::new(at, "http://example.com/caps.xml".parse().unwrap()).push(
            Entry::new("http://example.com/res1".parse().unwrap()).with_path(PackagePath::new("/res1")),
        );
        let xml = manifest.to_xml().unwrap();
        let mut writer = PackageWriter::new(Cursor::new(Vec::new()), xml.as_bytes()).unwrap();
        writer.add(&PackagePath::new("/res1"), None, 5, &b"hello"[..]).unwrap();
        let zip = writer.finish().unwrap().into_inner();
        for step in 0.. {
            let mut disk = FailingDisk { bytes: Cursor::new(zip.clone()), steps_left: step };
            let report = Validator::default().package(&mut disk, PackageLimits::new(), None);
            if disk.steps_left <= step {
                assert!(step > 10 && report.is_ok(), "all steps of the reader have failed once");
                break;
            }
            assert!(report.is_err(), "{step}: {report:?}");
        }
    }
}
