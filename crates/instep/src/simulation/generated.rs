//! Generated resources, whose bytes are computed on each request, and their changes.

use std::{
    fs::File,
    io::{self, Seek, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use instep_source::{ChangeReporter, Content, ResourceState, Supplied, Supplier, Supply};
use resourcesync::{Algorithm, Hasher, MediaType};
use tokio_util::sync::CancellationToken;

use super::draw;

// The purposes of numbers that are drawn from the seed.
const SIZES: u64 = 1;
const BYTES: u64 = 2;
const KINDS: u64 = 3;
const CHOICES: u64 = 4;

/// The number of bytes in a line of a resource.
const LINE: u64 = 17;

/// Generated resources; each takes four bytes of memory, at any size.
#[derive(Debug)]
pub(crate) struct Generated {
    /// An empty folder, because no resource is a file.
    folder: PathBuf,
    seed: u64,
    sizes: (u64, u64),
    /// The version of each resource, from 1; negative for a deleted one.
    versions: Mutex<Vec<i32>>,
    /// Reports changed paths to the Source, once that watches the resources.
    touched: OnceLock<ChangeReporter>,
}

/// The frequency of changes, and the number of resources that change at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedChanges {
    pub(crate) count: u32,
    pub(crate) every: Duration,
    /// The number of the first change.
    pub(crate) first: u64,
    /// The number of changes in all; `None` for no end.
    pub(crate) most: Option<u64>,
}

impl SimulatedChanges {
    /// Returns changes at a rate per second, several at a time if they are many.
    pub(crate) fn at_rate(rate: f64) -> Self {
        let count = (rate / 20.0).ceil().max(1.0);
        Self::bursts(count as u32, Duration::from_secs_f64((count / rate.max(1e-6)).min(1e6)))
    }

    /// Returns bursts of `count` changes.
    pub(crate) fn bursts(count: u32, every: Duration) -> Self {
        Self { count, every, first: 0, most: None }
    }
}

impl Generated {
    /// Returns `resources` resources with sizes in the given range.
    pub(crate) fn new(folder: PathBuf, seed: u64, resources: u32, sizes: (u64, u64)) -> Self {
        let versions = Mutex::new(vec![1; resources as usize]);
        Self { folder, seed, sizes, versions, touched: OnceLock::new() }
    }

    pub(crate) fn into_content(self: Arc<Self>) -> Content {
        Content::Supplied { supply: Supply(self), prefix: None }
    }

    /// Returns the resources as they are after the first `changes` changes.
    #[must_use]
    pub(crate) fn after(self, changes: u64) -> Self {
        (0..changes).for_each(|number| drop(self.change_one(number)));
        self
    }

    /// Changes resources until `ended`. The k-th change is the same in each run with the same seed.
    pub(crate) async fn change(self: Arc<Self>, changes: SimulatedChanges, ended: CancellationToken) {
        let mut number = changes.first;
        let end = changes.most.map_or(u64::MAX, |most| number.saturating_add(most));
        let mut ticks = tokio::time::interval(changes.every.max(Duration::from_millis(1)));
        ticks.tick().await;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = ended.cancelled() => return,
            }
            for _ in 0..u64::from(changes.count).min(end - number) {
                let path = self.change_one(number);
                number += 1;
                if let Some(touched) = self.touched.get() {
                    touched.path(path.as_bytes());
                }
            }
        }
    }

    /// Makes one change and returns its path. A tenth creates, a tenth deletes, the rest updates.
    fn change_one(&self, number: u64) -> String {
        let mut versions = self.versions();
        let kind = draw(self.seed, KINDS, number) % 10;
        let chosen = (draw(self.seed, CHOICES, number) % (versions.len() as u64).max(1)) as usize;
        let index = if kind == 0 || versions.is_empty() { versions.len() } else { chosen };
        match versions.get_mut(index) {
            None => versions.push(1),
            Some(version) if kind == 1 && *version > 0 => *version = -*version,
            // A deleted resource comes back with a new version.
            Some(version) => *version = version.abs() + 1,
        }
        path(index)
    }

    fn versions(&self) -> MutexGuard<'_, Vec<i32>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number and version of the resource at a path; `None` if there is none at present.
    fn find(&self, path: &[u8]) -> Option<(usize, i32)> {
        let index = index(path)?;
        let version = *self.versions().get(index)?;
        (version > 0).then_some((index, version))
    }

    fn bytes(&self, index: usize, version: i32) -> Vec<u8> {
        let (from, to) = self.sizes;
        let length = from + draw(self.seed, SIZES, index as u64) % (to - from + 1);
        let mut bytes = format!("resource {index}, version {version}\n").into_bytes();
        let (version, lines) = (u64::from(version.unsigned_abs()), length / LINE + 1);
        for line in 0..lines {
            // Each version changes one line, so that a patch is smaller than the resource.
            let written = version.saturating_sub((version + lines - line) % lines);
            let word = draw(self.seed ^ (index as u64) << 32 ^ written, BYTES, line);
            bytes.extend_from_slice(format!("{word:016x}\n").as_bytes());
        }
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        bytes
    }

    fn supplied(&self, index: usize, version: i32) -> Supplied {
        let bytes = self.bytes(index, version);
        let mut hasher = Hasher::new([&Algorithm::Sha256]);
        hasher.update(&bytes);
        let mut state = ResourceState::new();
        state.length = Some(bytes.len() as u64);
        state.digests = hasher.finish();
        state.media_type = Some(MediaType::new("text/plain"));
        Supplied::new(path(index), state)
    }
}

impl Supplier for Generated {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()> {
        let mut index = 0;
        loop {
            let Some(version) = self.versions().get(index).copied() else { return Ok(()) };
            if version > 0 && take(self.supplied(index, version)).is_break() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn at(&self, path: &[u8]) -> io::Result<Option<Supplied>> {
        Ok(self.find(path).map(|(index, version)| self.supplied(index, version)))
    }

    fn open(&self, path: &[u8]) -> Option<io::Result<File>> {
        let made = || {
            let (index, version) = self.find(path).ok_or(io::ErrorKind::NotFound)?;
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.bytes(index, version))?;
            file.rewind()?;
            Ok(file)
        };
        Some(made())
    }

    fn watch(&self, touched: ChangeReporter) {
        // The value is set once, because one Source publishes the resources.
        let _ = self.touched.set(touched);
    }
}

/// Returns a path such as `012/345/678.txt`; paths sort as their numbers do.
fn path(index: usize) -> String {
    format!("{:03}/{:03}/{:03}.txt", index / 1_000_000, index / 1_000 % 1_000, index % 1_000)
}

fn index(path: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(path).ok()?;
    let number: usize = text.strip_suffix(".txt")?.replace('/', "").parse().ok()?;
    (self::path(number) == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(seed: u64) -> Generated {
        Generated::new(PathBuf::new(), seed, 50, (10, 300))
    }

    #[test]
    fn the_same_seed_makes_the_same_bytes_and_changes_and_another_seed_others() {
        let made = |seed| {
            let generated = generated(seed);
            let paths: Vec<String> = (0..200).map(|number| generated.change_one(number)).collect();
            let versions = generated.versions().clone();
            (paths, versions, generated.bytes(3, 2))
        };
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
    }

    #[test]
    fn paths_are_unique_and_sort_as_the_numbers_of_their_resources() {
        let paths: Vec<String> = [0, 1, 999, 1_000, 999_999, 1_000_000].map(path).to_vec();
        assert!(paths.is_sorted());
        for (number, path) in [0, 1, 999, 1_000, 999_999, 1_000_000].into_iter().zip(&paths) {
            assert_eq!(index(path.as_bytes()), Some(number));
        }
        assert_eq!(index(b"000/000/1.txt"), None);
    }

    #[test]
    fn the_bytes_of_a_resource_have_the_length_and_digest_that_are_listed() {
        let generated = generated(5);
        (0..500).for_each(|number| drop(generated.change_one(number)));
        let mut seen = 0;
        generated
            .each(&mut |supplied| {
                let mut bytes = Vec::new();
                let mut file = generated.open(&supplied.path).unwrap().unwrap();
                io::Read::read_to_end(&mut file, &mut bytes).unwrap();
                let mut hasher = Hasher::new([&Algorithm::Sha256]);
                hasher.update(&bytes);
                assert_eq!(hasher.finish(), supplied.state.digests);
                assert!((10..=300).contains(&bytes.len()));
                seen += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(seen > 50, "{seen}");
    }
    #[test]
    fn o610_changes_go_on_up_to_the_largest_number_after_those_that_are_past() {
        let (generated, ended) = (Arc::new(generated(1)), CancellationToken::new());
        ended.cancel();
        let changes = SimulatedChanges { first: 1, most: Some(u64::MAX), ..SimulatedChanges::at_rate(1.0) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(generated.change(changes, ended));
    }
}
