//! The content of a Source by folder and by media type, counted in one pass over the catalogue in flat memory.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use instep_source::{
    catalogue::{ResourceOutline, Snapshot},
    serve::SourceView,
};

/// Groups that are shown; the others share one.
const MOST_SHOWN: usize = 10;
/// Media types that are counted apart. There are few in practice, and a hostile catalogue must not fill the memory.
const MOST_TYPES: usize = 1_000;
/// Keys that divide the catalogue into parts of equal size, so that several threads can search it.
const PARTS: u64 = 8;
/// A summary is made again when this many times the time that it took has passed, so that it never costs more than a
/// twentieth of one core.
const REST: u32 = 20;
/// A summary that took no longer than this is waited for.
const QUICK: Duration = Duration::from_millis(100);

/// A group of resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceGroup {
    pub(super) name: String,
    pub(super) resources: u64,
    pub(super) bytes: u64,
}

/// The content of a Source at one moment.
#[derive(Debug, Default)]
pub(super) struct ContentSummary {
    /// By the first folder below the base URL, the one with most resources first; the name of a folder ends in a slash.
    pub(super) folders: Vec<ResourceGroup>,
    /// By media type, without parameters.
    pub(super) types: Vec<ResourceGroup>,
    /// Keys that divide the catalogue.
    pub(super) keys: Vec<Vec<u8>>,
}

/// The name of the group of everything without its own group.
pub(super) const OTHERS: &str = "everything else";
/// The name of the group of the resources outside every folder.
pub(super) const TOP: &str = "(no folder)";

/// The last summary. If it is quick to make, it is made again when the catalogue has changed. For a large Source it
/// is made in the background, and the request gets the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Summaries(Arc<Mutex<SummaryState>>);

#[derive(Debug, Default)]
struct SummaryState {
    kept: Option<KeptSummary>,
    is_being_made: bool,
}

#[derive(Debug)]
struct KeptSummary {
    revision: u64,
    made: Instant,
    took: Duration,
    summary: Arc<ContentSummary>,
}

/// The cost of making a summary again.
#[derive(Clone, Copy, Debug)]
enum Renewal {
    /// It is that of the catalogue, or too young.
    Needless,
    Quick,
    Long,
}

impl Summaries {
    /// Returns the summary of the catalogue. Only the first one of a large Source is waited for.
    pub(super) fn of(&self, view: &SourceView) -> Result<Arc<ContentSummary>> {
        let snapshot = view.snapshot()?;
        match self.kept(&snapshot) {
            Some((summary, Renewal::Needless)) => Ok(summary),
            Some((summary, Renewal::Long)) => {
                self.begin(view, snapshot);
                Ok(summary)
            }
            Some((_, Renewal::Quick)) | None => self.make(&snapshot, view.place().base()),
        }
    }

    /// Returns the keys that divide the catalogue, as far as they are known. A search can also use those of an older
    /// catalogue, or none: it never waits for a summary.
    pub(super) fn keys(&self, view: &SourceView) -> Result<Vec<Vec<u8>>> {
        let snapshot = view.snapshot()?;
        let kept = self.kept(&snapshot);
        if !matches!(kept, Some((_, Renewal::Needless))) {
            self.begin(view, snapshot);
        }
        Ok(kept.map(|(summary, _)| summary.keys.clone()).unwrap_or_default())
    }

    /// Returns the last summary, and the cost of making one of this catalogue.
    fn kept(&self, snapshot: &Snapshot) -> Option<(Arc<ContentSummary>, Renewal)> {
        let state = self.lock();
        let kept = state.kept.as_ref()?;
        let renewal = match kept.took {
            took if kept.revision == snapshot.head().revision || kept.made.elapsed() < took * REST => {
                Renewal::Needless
            }
            took if took < QUICK => Renewal::Quick,
            _ => Renewal::Long,
        };
        Some((Arc::clone(&kept.summary), renewal))
    }

    /// Begins to make the summary in the background.
    fn begin(&self, view: &SourceView, snapshot: Snapshot) {
        if mem::replace(&mut self.lock().is_being_made, true) {
            return;
        }
        let (summaries, base) = (self.clone(), view.place().base().to_owned());
        thread::spawn(move || {
            if let Err(error) = summaries.make(&snapshot, &base) {
                tracing::warn!(error = format!("{error:#}"), "the content cannot be counted");
            }
            summaries.lock().is_being_made = false;
        });
    }

    fn make(&self, snapshot: &Snapshot, base: &str) -> Result<Arc<ContentSummary>> {
        let (revision, started) = (snapshot.head().revision, Instant::now());
        let summary = Arc::new(summarize(snapshot, base)?);
        let made = Instant::now();
        let kept = KeptSummary { revision, made, took: made - started, summary: Arc::clone(&summary) };
        self.lock().kept = Some(kept);
        Ok(summary)
    }

    fn lock(&self) -> MutexGuard<'_, SummaryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn summarize(snapshot: &Snapshot, base: &str) -> Result<ContentSummary> {
    let expected: u64 = (0..64).map(|set| Ok(snapshot.totals(set)?.resources)).sum::<Result<u64>>()?;
    let mut count = CataloguePass::new(base, (expected / PARTS).max(1));
    snapshot.for_each_outline(u64::MAX, |resource| count.add(resource))?;
    Ok(count.end())
}

/// A pass over the catalogue.
struct CataloguePass<'b> {
    base: &'b str,
    seen: u64,
    part: u64,
    /// The folder of the resources read last: keys are in order, so all of its resources follow each other.
    folder: ResourceGroup,
    /// The largest folders up to here.
    folders: Vec<ResourceGroup>,
    types: BTreeMap<String, (u64, u64)>,
    keys: Vec<Vec<u8>>,
}

impl<'b> CataloguePass<'b> {
    fn new(base: &'b str, part: u64) -> Self {
        let (folder, folders, types, keys) = Default::default();
        Self { base, seen: 0, part, folder, folders, types, keys }
    }

    fn add(&mut self, resource: ResourceOutline<'_>) {
        if self.seen > 0 && self.seen.is_multiple_of(self.part) {
            self.keys.push(resource.key.to_vec());
        }
        self.seen += 1;
        let bytes = resource.length.unwrap_or_default();
        let path = resource.uri.strip_prefix(self.base);
        let folder = match path.map(|path| path.split_once('/')) {
            Some(Some((folder, _))) => &resource.uri[..self.base.len() + folder.len() + 1],
            Some(None) => TOP,
            None => OTHERS,
        };
        if self.folder.name != folder {
            self.end_folder();
            folder.clone_into(&mut self.folder.name);
        }
        self.folder.resources += 1;
        self.folder.bytes += bytes;
        let essence = resource.media_type.unwrap_or("unknown").split(';').next().unwrap_or_default().trim();
        let known = self.types.contains_key(essence) || self.types.len() < MOST_TYPES;
        let (resources, of_type) = match self.types.get_mut(if known { essence } else { OTHERS }) {
            Some(counts) => (&mut counts.0, &mut counts.1),
            None => {
                let counts = self.types.entry(if known { essence } else { OTHERS }.to_owned()).or_default();
                (&mut counts.0, &mut counts.1)
            }
        };
        *resources += 1;
        *of_type += bytes;
    }

    /// Adds the last folder to the largest ones. Of more than twice as many as are shown, the smaller half shares a group.
    fn end_folder(&mut self) {
        let ended = mem::take(&mut self.folder);
        if ended.resources == 0 {
            return;
        }
        match self.folders.iter_mut().find(|folder| folder.name == ended.name) {
            Some(folder) => {
                folder.resources += ended.resources;
                folder.bytes += ended.bytes;
            }
            None => self.folders.push(ended),
        }
        if self.folders.len() > 64 * MOST_SHOWN {
            self.folders = largest(mem::take(&mut self.folders), 32 * MOST_SHOWN);
        }
    }

    fn end(mut self) -> ContentSummary {
        self.end_folder();
        let types = self.types.into_iter();
        let types = types.map(|(name, (resources, bytes))| ResourceGroup { name, resources, bytes });
        ContentSummary {
            folders: largest(self.folders, MOST_SHOWN),
            types: largest(types.collect(), MOST_SHOWN),
            keys: self.keys,
        }
    }
}

/// Returns the groups with most resources, in order, and the rest of them as one.
fn largest(mut groups: Vec<ResourceGroup>, most: usize) -> Vec<ResourceGroup> {
    let (others, named): (Vec<_>, Vec<_>) = groups.drain(..).partition(|group| group.name == OTHERS);
    groups = named;
    groups.sort_by(|one, other| (other.resources, &one.name).cmp(&(one.resources, &other.name)));
    let rest = groups.split_off(most.min(groups.len()));
    let rest = rest.into_iter().chain(others).fold(ResourceGroup::default(), |sum, group| ResourceGroup {
        name: OTHERS.to_owned(),
        resources: sum.resources + group.resources,
        bytes: sum.bytes + group.bytes,
    });
    if rest.resources > 0 {
        groups.push(rest);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_groups_come_first_and_the_rest_share_one() {
        let group =
            |name: &str, resources| ResourceGroup { name: name.to_owned(), resources, bytes: resources };
        let groups = vec![group("a", 1), group(OTHERS, 2), group("b", 5), group("c", 1)];
        let names: Vec<_> =
            largest(groups, 2).into_iter().map(|group| (group.name, group.resources)).collect();
        assert_eq!(names, [("b".to_owned(), 5), ("a".to_owned(), 1), (OTHERS.to_owned(), 3)]);
    }
}
