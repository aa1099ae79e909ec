//! A package: by itself, and against what its dump says of it.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use resourcesync::{
    Algorithm, Capability, Digests, Document, Hasher, ReadOptions, Uri,
    package::{Package, PackageLimits},
    validate::{Child, HttpFacts, Report, Validator, check_contents, check_http},
};

use super::judgement::Judgement;

/// What a dump says of a package.
pub(super) struct Claim {
    /// The dump, as it is shown.
    pub(super) dump: String,
    pub(super) capability: Option<Capability>,
    pub(super) child: Child,
}

/// Judges a package, and where a dump claims something of it, that too: what was `served`, and the copy of the manifest
/// (none where it cannot be read). Gives the report about the manifest.
pub(super) fn judge_package(
    name: &str,
    mut file: &File,
    validator: &Validator,
    claim: Option<&Claim>,
    (mut served, copy): (HttpFacts, Option<Document>),
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
        if claim.child.contents.is_some() {
            file.seek(SeekFrom::Start(0))?;
            let options = Uri::parse(name).map_or_else(|_| ReadOptions::new(), ReadOptions::for_base);
            let inside = Package::open(file, PackageLimits::new())
                .and_then(|mut package| package.read_manifest(options));
            let found = inside.map(|inside| check_contents(&claim.child, &inside, copy.as_ref()));
            found.into_iter().flatten().for_each(|finding| judgement.add(&claim.dump, finding));
        }
        return Ok(report.manifest);
    }
    claim.into_iter().for_each(|claim| compare(claim, &served, judgement));
    Ok(None)
}

fn compare(Claim { dump, capability, child }: &Claim, served: &HttpFacts, judgement: &mut Judgement) {
    let rule = if *capability == Some(Capability::ChangeDump) { "CD-7" } else { "RD-6" };
    for finding in check_http(&child.metadata, child.position, served, Some(rule)) {
        judgement.add(dump, finding);
    }
}

/// The algorithms of some digests.
pub(super) fn algorithms(hash: &Digests) -> Vec<Algorithm> {
    hash.iter().map(|digest| digest.algorithm.clone()).collect()
}

/// The digests of everything that a reader yields.
pub(super) fn digests(mut reader: impl Read, algorithms: &[Algorithm]) -> io::Result<Digests> {
    let mut hasher = Hasher::new(algorithms);
    hasher.take_all(&mut reader, &mut vec![0; 64 << 10])?;
    Ok(hasher.finish())
}
