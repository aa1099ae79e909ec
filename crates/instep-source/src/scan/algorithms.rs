//! The digest algorithms of the last complete scan: if others are wanted now, every file is hashed again.

use resourcesync::Algorithm;

use super::{hasher::Hashing, options::ScanOptions};
use crate::{Error, catalogue::Catalogue};

/// The name under which the catalogue keeps the algorithms of the last complete scan.
const ALGORITHMS: &str = "algorithms";

/// Returns the digests to compute, and those that tell whether the bytes changed.
pub(super) fn hashing(catalogue: &Catalogue, options: &ScanOptions) -> Result<Hashing, Error> {
    let kept = String::from_utf8(catalogue.meta(ALGORITHMS)?.unwrap_or_default()).unwrap_or_default();
    let before: Vec<Algorithm> = kept.split_ascii_whitespace().map(Algorithm::parse).collect();
    let published = options.algorithms.clone();
    let baselined = catalogue.head()?.baselined & options.sets == options.sets;
    Ok(Hashing {
        before: if before == published { Vec::new() } else { before },
        published,
        spool: options.spool.clone().filter(|_| baselined),
    })
}

/// Records that a complete scan has used the algorithms, and that the sets have their baseline.
pub(super) fn complete(catalogue: &Catalogue, options: &ScanOptions) -> Result<(), Error> {
    let names: Vec<&str> = options.algorithms.iter().map(Algorithm::as_str).collect();
    let names = names.join(" ").into_bytes();
    if catalogue.meta(ALGORITHMS)?.as_ref() != Some(&names) {
        catalogue.set_meta(vec![(ALGORITHMS.to_owned(), Some(names))])?;
    }
    if catalogue.head()?.baselined & options.sets != options.sets {
        catalogue.complete_baseline(options.sets)?;
    }
    Ok(())
}
