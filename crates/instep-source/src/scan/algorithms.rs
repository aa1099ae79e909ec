//! The digest algorithms of the last complete scan: if others are wanted now, every file is hashed again.

use resourcesync::Algorithm;

use super::{hasher::HashPlan, options::ScanOptions};
use crate::{Error, catalogue::Catalogue, records::ALGORITHMS};

/// Returns the digests to compute, and those that show if the bytes changed.
pub(super) fn hashing(catalogue: &Catalogue, options: &ScanOptions) -> Result<HashPlan, Error> {
    let kept = ALGORITHMS.read(catalogue)?.unwrap_or_default();
    let before: Vec<Algorithm> = kept.iter().map(|name| Algorithm::parse(name)).collect();
    let published = options.algorithms.clone();
    let baselined = catalogue.head()?.baselined & options.sets == options.sets;
    Ok(HashPlan {
        before: if before == published { Vec::new() } else { before },
        published,
        spool: options.spool.clone().filter(|_| baselined),
        stop: options.stop.clone(),
    })
}

/// Records that a complete scan has used the algorithms, and that the sets have their baseline.
pub(super) fn complete(catalogue: &Catalogue, options: &ScanOptions) -> Result<(), Error> {
    let names: Vec<_> = options.algorithms.iter().map(|algorithm| algorithm.as_str().to_owned()).collect();
    if ALGORITHMS.read(catalogue)?.as_ref() != Some(&names) {
        catalogue.set_meta(vec![ALGORITHMS.write(&names)])?;
    }
    if catalogue.head()?.baselined & options.sets != options.sets {
        catalogue.complete_baseline(options.sets)?;
    }
    Ok(())
}
