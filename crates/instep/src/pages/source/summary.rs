//! The content of a Source by folder and by media type. It is counted in one pass over the catalogue, in memory that
//! does not grow with the catalogue, and kept from one request to the next.

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

/// The most groups that are shown. All others share one group.
const MOST_SHOWN: usize = 10;
/// The most media types that are counted apart, so that a hostile catalogue cannot fill the memory. In practice there
/// are few.
const MOST_TYPES: usize = 1_000;
/// The number of parts into which the catalogue is divided, so that several threads can search it.
const PARTS: u64 = 8;
/// A summary is made again after this many times the time that it took, so that it never costs more than a twentieth of
/// one core.
const REST: u32 = 20;
/// A request waits for a new summary if the last one took less than this time.
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
    /// The resources by the first folder below the base URL, the largest group first. The name of a folder is its URI,
    /// with a slash at the end.
    pub(super) folders: Vec<ResourceGroup>,
    /// The resources by media type, without parameters.
    pub(super) types: Vec<ResourceGroup>,
    /// The keys that divide the catalogue into parts of equal size.
    pub(super) keys: Vec<Vec<u8>>,
}

/// The name of the group of all resources that are in no group of their own.
pub(super) const OTHERS: &str = "everything else";
/// The name of the group of the resources outside every folder.
pub(super) const TOP: &str = "(no folder)";

/// The last summary. When the catalogue has changed, it is made again: at once for a small Source, in the background
/// for a large one, whose requests get the last summary meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Summaries(Arc<Mutex<SummaryState>>);

#[derive(Debug, Default)]
struct SummaryState {
    kept: Option<KeptSummary>,
    is_being_made: bool,
}

/// A summary, with the revision of the catalogue that it describes.
#[derive(Debug)]
struct KeptSummary {
    revision: u64,
    made: Instant,
    took: Duration,
    summary: Arc<ContentSummary>,
}

/// The need for a new summary, and its cost.
#[derive(Clone, Copy, Debug)]
enum Renewal {
    /// The summary describes the present catalogue, or is too young to be made again.
    Needless,
    /// A new one is made while the request waits.
    Quick,
    /// A new one is made in the background.
    Long,
}

impl Summaries {
    /// Returns a summary of the catalogue. For a large Source a request waits only if there is none yet.
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

    /// Returns the keys that divide the catalogue; none if no summary was made yet. A search can use keys of an older
    /// catalogue, or none, so it never waits for a summary.
    pub(super) fn keys(&self, view: &SourceView) -> Result<Vec<Vec<u8>>> {
        let snapshot = view.snapshot()?;
        let kept = self.kept(&snapshot);
        if !matches!(kept, Some((_, Renewal::Needless))) {
            self.begin(view, snapshot);
        }
        Ok(kept.map(|(summary, _)| summary.keys.clone()).unwrap_or_default())
    }

    /// Returns the last summary, and the need for a new one of this catalogue; `None` if none was made yet.
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

    /// Begins to make a summary in the background, unless one is already being made.
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
    /// The folder that is being counted. Keys are in order, so its resources follow each other.
    folder: ResourceGroup,
    /// The folders that were counted before, as far as they are among the largest.
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

    /// Adds the counted folder to the others. If there are too many folders, the smaller half of them is put into one
    /// group; far more are kept than are shown, so that the largest ones are found wherever they come in the order.
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

/// Returns the groups with the most resources in order, and then all others as one group.
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
