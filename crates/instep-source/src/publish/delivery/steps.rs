//! The steps of a delivery: which documents come before which.

use std::path::Path;

use resourcesync::DateTime;

use super::super::in_place::documents_in;
use crate::{
    Error,
    records::{DeliveryStep, UndeliveredDocument},
    render::{DOCUMENTS, PATCHES, ROBOTS, SOURCE_DESCRIPTION, SourcePlace, is_immutable},
    sink::Rank,
};

/// Returns a document that was put in place with a rank.
pub(super) fn placed(rank: Rank, name: &str, is_new: bool) -> UndeliveredDocument {
    let step = match rank {
        Rank::Part if is_patch(name) => DeliveryStep::Patch,
        Rank::Part if is_part(name) => DeliveryStep::Part,
        Rank::Part => DeliveryStep::List,
        Rank::Index => DeliveryStep::Index,
        Rank::CapabilityList => DeliveryStep::CapabilityList,
        Rank::Source => DeliveryStep::Source,
    };
    UndeliveredDocument { name: name.to_owned(), step, is_new }
}

/// Returns a document that is removed.
pub(super) fn removed(name: &str) -> UndeliveredDocument {
    UndeliveredDocument { name: name.to_owned(), step: DeliveryStep::Removal, is_new: false }
}

/// Returns the mark of a Source: another one for each catalogue.
pub(super) fn mark(place: &SourcePlace, now: DateTime) -> String {
    blake3::hash(format!("{} {now}", place.base()).as_bytes()).to_hex()[..16].to_owned()
}

/// Returns every document of a folder, in the order of delivery. All of them count as new, because another place may
/// have objects of others.
pub(super) fn all_in(folder: &Path) -> Result<Vec<UndeliveredDocument>, Error> {
    let names = documents_in(folder)?;
    let document = |name: String| UndeliveredDocument { step: step_of(&name), name, is_new: true };
    let mut documents: Vec<_> = names.into_iter().map(document).collect();
    documents.sort_by_key(|document| document.step);
    Ok(documents)
}

/// Returns the step of a document whose rank is not known, at the earliest that its name allows.
pub(super) fn step_of(name: &str) -> DeliveryStep {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let last = plain.rsplit('/').next().unwrap_or(plain);
    let number = last.trim_end_matches(".xml").rsplit_once('-').map(|(_, number)| number);
    let is_numbered = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    match last {
        _ if is_patch(name) => DeliveryStep::Patch,
        _ if is_part(name) => DeliveryStep::Part,
        _ if name == SOURCE_DESCRIPTION || name == ROBOTS => DeliveryStep::Source,
        "capabilitylist.xml" => DeliveryStep::CapabilityList,
        _ if is_numbered || !last.ends_with(".xml") => DeliveryStep::List,
        _ if is_immutable(name.as_bytes()) => DeliveryStep::List,
        _ => DeliveryStep::Index,
    }
}

/// Returns `true` for a part that never changes: of a list, a package and its manifest. The document of a complete
/// snapshot also has the time in its name, but no number: it refers to parts.
fn is_part(name: &str) -> bool {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let stem = plain.rsplit_once('.').map_or(plain, |(stem, _)| stem);
    let number = stem.rsplit_once('-').map_or("", |(_, number)| number);
    let is_numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_numbered && is_immutable(name.as_bytes())
}

fn is_patch(name: &str) -> bool {
    is_immutable(name.as_bytes()) && name.starts_with(&format!("{DOCUMENTS}/{PATCHES}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_earliest_step() {
        use DeliveryStep::{CapabilityList, Index, List, Part, Patch, Source};
        for (name, step) in [
            ("resourcesync/resourcelist-20261121T140000.000001Z-0001.xml", Part),
            ("resourcesync/resourcelist-20261121T140000.000001Z-0001.xml.gz", Part),
            ("resourcesync/a/resourcedump-20261121T140000Z-0001.zip", Part),
            ("resourcesync/patches/000001/000000101-aa.vcdiff", Patch),
            ("resourcesync/resourcelist-20261121T140000.000001Z.xml", List),
            ("resourcesync/changelist-000001.xml", List),
            ("resourcesync/about.html", List),
            ("resourcesync/changelist.xml", Index),
            ("resourcesync/resourcelist-archive.xml", Index),
            ("resourcesync/a/capabilitylist.xml.gz", CapabilityList),
            (".well-known/resourcesync", Source),
            ("robots.txt", Source),
        ] {
            assert_eq!(step_of(name), step, "{name}");
        }
    }
}
