//! From a document up to its Capability List, and from a Source Description down to all of them (DISC-6, NAV-1, NAV-3).

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use resourcesync::{Capability, Form, Uri};

use super::{
    CapabilitySet, DiscoverError, Discovered, Offer, Trouble, Way, beside,
    capability_list::{Kept, read_set},
    found::capability,
    listed::{add_new, is_named, locs, locs_of},
};
use crate::{
    documents::{Document, DocumentError, Documents},
    error::BesideUrl as _,
};

/// The most steps upwards: index, Capability List, Source Description, and one more for documents of an old draft.
const MOST_STEPS: usize = 4;
/// The number of Capability Lists that are read at a time.
const AT_A_TIME: usize = 8;
/// The most sets that one search reads.
const MOST_SETS: usize = 1_000;
/// The most sets whose URIs are kept, to choose among them.
const MOST_NAMES: usize = 50_000;

/// Returns the sets that a document leads to.
pub(super) async fn from(
    asked_for: &Uri,
    document: Document,
    way: Way,
    documents: &Documents,
    wanted: &[String],
    kept: &Kept,
) -> Result<Discovered, DiscoverError> {
    let mut climb = Climb { documents, wanted, kept, troubles: Vec::new() };
    let mut found = match capability(&document.header) {
        Capability::Description => climb.down(document).await?,
        Capability::CapabilityList if document.header.form == Form::Index => climb.down(document).await?,
        Capability::CapabilityList => climb.alone(read_set(asked_for, &document, climb.kept)?, &document),
        _ => climb.up(asked_for, document).await?,
    };
    found.way = way;
    found.troubles = climb.troubles;
    Ok(found)
}

struct Climb<'a> {
    documents: &'a Documents,
    wanted: &'a [String],
    kept: &'a Kept,
    troubles: Vec<Trouble>,
}

impl Climb<'_> {
    /// Climbs from any list through `index` and `up` to its Capability List. If that fails, the list is used alone.
    async fn up(&mut self, asked_for: &Uri, start: Document) -> Result<Discovered, DiscoverError> {
        let kind = capability(&start.header);
        let mut seen = BTreeSet::from([start.uri.clone()]);
        let mut list = start.clone();
        let mut at = start;
        let mut lost_above = None;
        for _ in 0..MOST_STEPS {
            let Some(next) = at.header.up().or(at.header.index()).cloned() else { break };
            if !seen.insert(next.clone()) {
                self.trouble(&next, "the links upwards go in a circle");
                break;
            }
            let above = match self.open(&next, &at).await {
                Ok(above) => above,
                Err(source) if source.ends_search() => {
                    return Err(DiscoverError::Invalid { uri: next, source });
                }
                Err(error) => {
                    self.lose_above(&next, &error);
                    lost_above = Some(next);
                    break;
                }
            };
            match capability(&above.header) {
                Capability::CapabilityList if above.header.form == Form::Index => {
                    return self.down(above).await;
                }
                Capability::CapabilityList => {
                    let set = read_set(&next, &above, self.kept)?;
                    return Ok(self.alone(with_list(set, kind, list), &above));
                }
                Capability::Description => return self.down(above).await,
                found if found == kind && above.header.form == Form::Index => list = above.clone(),
                _ => {}
            }
            at = above;
        }
        let asked_for = Some(asked_for.clone());
        let set = CapabilitySet { asked_for, lost_above, ..CapabilitySet::default() };
        let mut set = with_list(set, kind, list.clone());
        if set.lost_above.is_none() {
            set = self.with_changes_beside(set, &list).await?;
        }
        Ok(self.alone(set, &list))
    }

    /// Adds the Change List beside a list, if no Capability List says which documents there are (O153).
    async fn with_changes_beside(
        &mut self,
        set: CapabilitySet,
        list: &Document,
    ) -> Result<CapabilitySet, DiscoverError> {
        let Some(uri) = beside::change_list(list) else { return Ok(set) };
        match self.open(&uri, list).await {
            Ok(changes) if capability(&changes.header) == Capability::ChangeList => {
                return Ok(with_list(set, Capability::ChangeList, changes));
            }
            Err(source) if source.ends_search() => return Err(DiscoverError::Invalid { uri, source }),
            Err(error) if !beside::is_absent(&error) => self.trouble(&uri, error.beside(uri.as_str())),
            _ => {}
        }
        Ok(set)
    }

    /// Descends from a Source Description, or an index over Capability Lists, to the sets that are wanted (§8).
    async fn down(&mut self, description: Document) -> Result<Discovered, DiscoverError> {
        let lists = self.capability_lists(&description).await?;
        let (chosen, other_sets) = self.choose(lists)?;
        if chosen.len() > MOST_SETS {
            return Err(too_many(&description, chosen.len(), MOST_SETS));
        }
        let mut sets = Vec::new();
        let mut first_failure = None;
        self.read_sets(chosen, &description, &mut sets, &mut first_failure).await?;
        if sets.is_empty()
            && let Some(failure) = first_failure
        {
            return Err(failure);
        }
        let is_description = capability(&description.header) == Capability::Description;
        let above = description.header.up().cloned();
        Ok(Discovered {
            source_description: if is_description { Some(description.uri) } else { above },
            names_sets: true,
            sets,
            other_sets,
            way: Way::Itself,
            troubles: Vec::new(),
            crawl_delay: None,
        })
    }

    /// Reads Capability Lists, and those that an index over several leads to. If one cannot be read, only its own set
    /// is lost (B10).
    async fn read_sets(
        &mut self,
        lists: Vec<Uri>,
        from: &Document,
        sets: &mut Vec<CapabilitySet>,
        first_failure: &mut Option<DiscoverError>,
    ) -> Result<(), DiscoverError> {
        let mut indexes = Vec::new();
        let mut opened = stream::iter(lists)
            .map(async |uri| {
                let document = self.open(&uri, from).await;
                (uri, document)
            })
            .buffered(AT_A_TIME);
        let (mut failed, mut found) = (Vec::new(), Vec::new());
        while let Some((uri, document)) = opened.next().await {
            match document {
                Ok(document) if document.header.form == Form::Index => indexes.push(document),
                Ok(document) => match read_set(&uri, &document, self.kept) {
                    Ok(set) => add_new(&mut found, set),
                    Err(error) => failed.push((uri, error)),
                },
                Err(source) => failed.push((uri.clone(), DiscoverError::Invalid { uri, source })),
            }
        }
        drop(opened);
        sets.append(&mut found);
        for index in indexes {
            match locs(&index, &mut self.troubles) {
                Ok(members) => self.read_members(members, &index, sets, &mut failed).await,
                Err(error) => failed.push((index.uri.clone(), error)),
            }
        }
        for (uri, error) in failed {
            if error.ends_search() {
                return Err(error);
            }
            self.troubles.push(Trouble::lost_set(&uri, error.beside(uri.as_str())));
            first_failure.get_or_insert(error);
        }
        Ok(())
    }

    async fn read_members(
        &self,
        members: Vec<Uri>,
        index: &Document,
        sets: &mut Vec<CapabilitySet>,
        failed: &mut Vec<(Uri, DiscoverError)>,
    ) {
        for uri in members {
            let read = match self.open(&uri, index).await {
                Ok(document) => read_set(&uri, &document, self.kept),
                Err(source) => Err(DiscoverError::Invalid { uri: uri.clone(), source }),
            };
            match read {
                Ok(set) => add_new(sets, set),
                Err(error) => failed.push((uri, error)),
            }
        }
    }

    /// Returns the Capability Lists of a Source Description, or of all that an index over several leads to (SD-7).
    async fn capability_lists(&mut self, description: &Document) -> Result<Vec<Uri>, DiscoverError> {
        let locs = locs(description, &mut self.troubles)?;
        let is_description = capability(&description.header) == Capability::Description;
        if description.header.form == Form::List || !is_description {
            return Ok(locs);
        }
        let mut lists = Vec::new();
        for part in locs {
            let read = match self.open(&part, description).await {
                Ok(document) if document.header.form == Form::Index => Err("an index in an index".to_owned()),
                Ok(list) => locs_of(&list, &mut self.troubles).map_err(|error| error.beside(part.as_str())),
                Err(source) if source.ends_search() => {
                    return Err(DiscoverError::Invalid { uri: part, source });
                }
                Err(error) => Err(error.beside(part.as_str())),
            };
            match read {
                Ok(more) => lists.extend(more),
                Err(what) => self.troubles.push(Trouble::lost_set(&part, what)),
            }
            if lists.len() > MOST_NAMES {
                return Err(too_many(description, lists.len(), MOST_NAMES));
            }
        }
        Ok(lists)
    }

    fn choose(&self, lists: Vec<Uri>) -> Result<(Vec<Uri>, Vec<Uri>), DiscoverError> {
        for wanted in self.wanted {
            if !lists.iter().any(|uri| is_named(uri, wanted)) {
                return Err(DiscoverError::NoSuchSet { wanted: wanted.clone(), sets: lists });
            }
        }
        let is_wanted =
            |uri: &Uri| self.wanted.is_empty() || self.wanted.iter().any(|name| is_named(uri, name));
        Ok(lists.into_iter().partition(is_wanted))
    }

    /// Returns the set whose Capability List or only list is `document`.
    fn alone(&self, set: CapabilitySet, document: &Document) -> Discovered {
        let is_list = capability(&document.header) == Capability::CapabilityList;
        let source_description = document.header.up().filter(|_| is_list).cloned();
        Discovered {
            names_sets: source_description.is_some(),
            source_description,
            sets: vec![set],
            other_sets: Vec::new(),
            way: Way::Itself,
            troubles: Vec::new(),
            crawl_delay: None,
        }
    }

    async fn open(&self, uri: &Uri, from: &Document) -> Result<Document, DocumentError> {
        self.documents.open(uri, from.origin().as_ref()).await
    }

    /// Records that a document above a list cannot be fetched. The documents that it leads to are lost, unless the
    /// host answers that it does not exist: a list may be used alone although it names a Capability List.
    fn lose_above(&mut self, uri: &Uri, error: &DocumentError) {
        let what = error.beside(uri.as_str());
        self.troubles.push(if error.is_missing() {
            Trouble::new(uri, what)
        } else {
            Trouble::lost_set(uri, what)
        });
    }

    fn trouble(&mut self, uri: &Uri, what: impl Into<String>) {
        self.troubles.push(Trouble::new(uri, what));
    }
}

/// Puts a list that was fetched on the way into its set, so that it is not fetched again.
fn with_list(mut set: CapabilitySet, kind: Capability, list: Document) -> CapabilitySet {
    let offer = set.capabilities.entry(kind).or_insert_with(|| Offer::new(list.uri.clone(), Vec::new()));
    if offer.uri == list.uri {
        offer.document = Some(list);
    }
    set
}

fn too_many(document: &Document, sets: usize, most: usize) -> DiscoverError {
    DiscoverError::TooManySets { uri: document.uri.clone(), sets, most }
}
