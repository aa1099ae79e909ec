//! Several links to Sources: each is followed (A4), and a set that is found twice is one.

use std::collections::BTreeSet;

use resourcesync::{Capability, Form, Uri};

use super::{CapabilitySet, DiscoverError, Discovered, Trouble, listed::is_named};
use crate::documents::Document;

/// The most lists that are kept until they are read. Others are fetched again then.
const MOST_DOCUMENTS: usize = 8;

/// The sets and failures that links lead to so far.
#[derive(Debug)]
pub(super) struct Several {
    links: BTreeSet<Uri>,
    found: Vec<Discovered>,
    /// The Sitemaps without `rs:md`.
    plain: Vec<Discovered>,
    /// Links to Sitemaps that are members of a plain index among the links.
    members: BTreeSet<Uri>,
    lost: Vec<Trouble>,
    documents: usize,
}

impl Several {
    /// Returns an empty result for these links.
    pub(super) fn of<'a>(links: impl Iterator<Item = &'a Uri>) -> Self {
        let links = links.cloned().collect();
        let (found, plain, members, lost) = Default::default();
        Self { links, found, plain, members, lost, documents: 0 }
    }

    /// Adds the documents of one link.
    pub(super) fn add(&mut self, mut found: Discovered) {
        let plain = found.sets.iter().find_map(plain_list);
        if let Some(index) = plain.filter(|document| document.header.form == Form::Index) {
            // If it cannot be read to its end, this is reported when it is read as a list.
            let _ = index.for_each(|entry| self.members.extend(self.links.get(&entry.loc).cloned()));
        }
        let found_in = if plain.is_some() { &mut self.plain } else { &mut self.found };
        for offer in found.sets.iter_mut().flat_map(|set| set.capabilities.values_mut()) {
            self.documents += usize::from(offer.document.is_some());
            if self.documents > MOST_DOCUMENTS {
                offer.document = None;
            }
        }
        found_in.push(found);
    }

    /// Adds a link that leads to nothing that can be read.
    pub(super) fn lose(&mut self, trouble: Option<&Trouble>) {
        self.lost.extend(trouble.map(|trouble| Trouble { costs_a_set: true, ..trouble.clone() }));
    }

    /// Adds a link that leads to nothing, and has never led to anything.
    pub(super) fn warn_of(&mut self, trouble: Option<&Trouble>) {
        self.lost.extend(trouble.cloned());
    }

    /// Returns `true` if Sitemaps were found, but no Resource List.
    pub(super) fn is_only_plain(&self) -> bool {
        self.found.is_empty() && !self.plain.is_empty()
    }

    /// Returns `true` if one of the Sitemaps has one of these names.
    pub(super) fn has_one_of(&self, names: &[String]) -> bool {
        let mut sets = self.plain.iter().flat_map(|found| &found.sets);
        sets.any(|set| names.iter().any(|name| set.is_known_as(name)))
    }

    /// Returns the URIs of the Sitemaps.
    pub(super) fn sitemaps(&self) -> impl Iterator<Item = &Uri> {
        self.plain.iter().flat_map(Discovered::asked_for)
    }

    /// Returns everything together; `None` if nothing was found. Plain Sitemaps beside Resource Lists are left out,
    /// because they describe pages for search engines (§6.3.4). If there are no Resource Lists, the Sitemaps are read
    /// as such (DIA-7). `wanted` selects among the sets of all links.
    pub(super) fn together(self, wanted: &[String]) -> Result<Option<Discovered>, DiscoverError> {
        // Nothing but this page or robots.txt names the Sitemaps of a site, as a Source Description names sets.
        let names_all = self.is_only_plain();
        let is_member = |found: &Discovered| found.asked_for().any(|uri| self.members.contains(uri));
        let found: Vec<_> = if self.found.is_empty() {
            self.plain.into_iter().filter(|found| !is_member(found)).collect()
        } else {
            self.found
        };
        let mut found = found.into_iter();
        let Some(mut all) = found.next() else { return Ok(None) };
        for more in found {
            join(&mut all, more);
        }
        all.names_sets |= names_all;
        all.troubles.extend(self.lost);
        choose(&mut all, wanted)?;
        Ok(Some(all))
    }
}

/// Returns the only list of a set if it is a Sitemap without `rs:md`.
fn plain_list(set: &CapabilitySet) -> Option<&Document> {
    let list = set.get(&Capability::ResourceList).filter(|_| set.capability_list.is_none())?;
    list.document.as_ref().filter(|document| document.header.capability().is_none())
}

/// Adds the sets and faults that are not there yet.
fn join(all: &mut Discovered, more: Discovered) {
    all.source_description = all.source_description.take().or(more.source_description);
    for set in more.sets {
        if !all.sets.iter().any(|held| is_same(held, &set)) {
            all.sets.push(set);
        }
    }
    for trouble in more.troubles {
        if !all.troubles.contains(&trouble) {
            all.troubles.push(trouble);
        }
    }
}

fn is_same(one: &CapabilitySet, other: &CapabilitySet) -> bool {
    one.name() == other.name()
        || (one.capability_list.is_some() && one.capability_list == other.capability_list)
}

/// Keeps the sets that the operator names.
fn choose(all: &mut Discovered, wanted: &[String]) -> Result<(), DiscoverError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let names = |set: &CapabilitySet| set.asked_for.clone().or_else(|| set.capability_list.clone());
    let is_wanted =
        |set: &CapabilitySet| names(set).is_some_and(|uri| wanted.iter().any(|name| is_named(&uri, name)));
    let (chosen, others): (Vec<_>, Vec<_>) = all.sets.drain(..).partition(is_wanted);
    for wanted in wanted {
        if !chosen.iter().filter_map(names).any(|uri| is_named(&uri, wanted)) {
            let sets = chosen.iter().chain(&others).filter_map(names).collect();
            return Err(DiscoverError::NoSuchSet { wanted: wanted.clone(), sets });
        }
    }
    all.sets = chosen;
    all.other_sets.extend(others.iter().filter_map(names));
    Ok(())
}
