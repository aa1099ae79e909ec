//! Checks a package, and compares it with the entry of its dump.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use resourcesync::{
    Algorithm, Capability, Digests, Document, Hasher, ReadOptions, Uri,
    package::{Package, PackageLimits},
    validate::{Child, HttpAnswer, Report, Validator},
};

use super::judgement::Judgement;

/// The entry of a dump for a package.
pub(super) struct ExpectedPackage {
    /// The name to show for the dump.
    pub(super) dump: String,
    /// The kind of the dump.
    pub(super) capability: Option<Capability>,
    /// The entry.
    pub(super) child: Child,
}

/// Checks a package. If the entry of its dump is known (`claim`), also compares it with the response that served the
/// package, and with the copy of the manifest (`None` if there is none). Returns the report of the manifest; `None` if
/// the response is not a ZIP file or has no manifest.
///
/// Errors: the file cannot be read.
pub(super) fn judge_package(
    name: &str,
    mut file: &File,
    validator: &Validator,
    claim: Option<&ExpectedPackage>,
    (mut served, copy): (HttpAnswer, Option<Document>),
    judgement: &mut Judgement,
) -> anyhow::Result<Option<Report>> {
    if served.is_zip != Some(false) {
        let dump = claim.and_then(|claim| claim.capability.as_ref());
        file.seek(SeekFrom::Start(0))?;
        let report = validator.package(file, PackageLimits::new(), dump)?;
        judgement.add_package(name, &report);
        let Some(claim) = claim else { return Ok(report.manifest) };
        file.seek(SeekFrom::Start(0))?;
        served.digests = digests(file, &algorithms(&claim.child.metadata.hash))?;
        compare(claim, &served, judgement);
        file.seek(SeekFrom::Start(0))?;
        let options = Uri::parse(name).map_or_else(|_| ReadOptions::new(), ReadOptions::for_base);
        let inside =
            Package::open(file, PackageLimits::new()).and_then(|mut package| package.read_manifest(options));
        let found = inside.map(|inside| claim.child.check_contents(&inside, copy.as_ref()));
        found.into_iter().flatten().for_each(|finding| judgement.add(&claim.dump, finding));
        return Ok(report.manifest);
    }
    claim.into_iter().for_each(|claim| compare(claim, &served, judgement));
    Ok(None)
}

fn compare(
    ExpectedPackage { dump, capability, child }: &ExpectedPackage,
    served: &HttpAnswer,
    judgement: &mut Judgement,
) {
    let rule = if *capability == Some(Capability::ChangeDump) { "CD-7" } else { "RD-6" };
    for finding in served.check(&child.metadata, child.position, Some(rule)) {
        judgement.add(dump, finding);
    }
}

/// Returns the algorithms of some digests.
pub(super) fn algorithms(hash: &Digests) -> Vec<Algorithm> {
    hash.iter().map(|digest| digest.algorithm.clone()).collect()
}

/// Returns the digests of everything that a reader yields.
pub(super) fn digests(mut reader: impl Read, algorithms: &[Algorithm]) -> io::Result<Digests> {
    let mut hasher = Hasher::new(algorithms);
    hasher.take_all(&mut reader, &mut vec![0; 64 << 10])?;
    Ok(hasher.finish())
}
