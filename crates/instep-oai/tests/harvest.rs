//! Repositories as they are, harvested and published as a Source.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "harvest/broken.rs"]
mod broken;
#[path = "harvest/doubtful.rs"]
mod doubtful;
#[path = "harvest/faithful.rs"]
mod faithful;
#[path = "harvest/incomplete.rs"]
mod incomplete;
#[path = "harvest/platforms.rs"]
mod platforms;
#[path = "harvest/round_trip.rs"]
mod round_trip;

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use instep_net::{HttpOptions, Scope};
use instep_oai::{HarvestOptions, HarvestedRepository, RepositoryUrl};
use instep_source::{
    Content, Error, MaxDeletions, PublishEvents, PublishOptions, PublishReport, RecordingMonitor, Supply,
    publish,
};
use instep_testkit::FakeRepository;
use resourcesync::{DocumentReader, Entry, ReadOptions};
use tempfile::TempDir;

/// A repository, and a Source that publishes it.
struct Bench {
    place: TempDir,
    fake: FakeRepository,
    arguments: String,
    options: HarvestOptions,
}

impl Bench {
    fn new(fake: FakeRepository) -> Self {
        let (arguments, options) = ("metadataPrefix=oai_dc".to_owned(), HarvestOptions::default());
        Self { place: tempfile::tempdir().unwrap(), fake, arguments, options }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// Publishes once, with a harvest before.
    fn try_publish(&self) -> (Result<PublishReport, Error>, PublishEvents) {
        let source = harvested(&self.fake.url(&self.arguments), self.folder(), &self.options);
        let mut options = PublishOptions::new(self.folder(), "http://example.org/");
        options.sets[0].content = vec![source];
        options.guard.most = MaxDeletions::Percent(100);
        let monitor = RecordingMonitor::new();
        let report = publish(&options, &monitor);
        (report, monitor.seen())
    }

    fn publish(&self) -> PublishReport {
        let (report, events) = self.try_publish();
        assert_eq!(events.problems, []);
        report.unwrap()
    }

    /// Publishes, and expects that what is wrong is named by texts.
    fn publish_with_problems(&self, named: &[&str]) -> PublishReport {
        let (report, events) = self.try_publish();
        let problems = format!("{:?}", events.problems);
        assert!(
            !named.is_empty() && named.iter().all(|name| problems.contains(name)),
            "{named:?}: {problems}"
        );
        report.unwrap()
    }

    /// Returns the entries of the Resource List.
    fn entries(&self) -> Vec<Entry> {
        let bytes = std::fs::read(self.folder().join("resourcesync/resourcelist.xml")).unwrap();
        let mut reader = DocumentReader::new(bytes.as_slice(), ReadOptions::new()).unwrap();
        reader.entries().collect::<Result<_, _>>().unwrap()
    }

    /// Returns the names of the published resources below the base URL.
    fn names(&self) -> BTreeSet<String> {
        let names = self.entries().into_iter();
        names
            .map(|entry| entry.loc.as_str().strip_prefix("http://example.org/").unwrap().to_owned())
            .collect()
    }

    /// Each published resource is a file with the length that is stated.
    fn assert_files_are_there(&self) {
        for entry in self.entries() {
            let path = entry.loc.as_str().strip_prefix("http://example.org/").unwrap();
            let bytes = std::fs::read(self.folder().join(path)).unwrap();
            let metadata = &entry.metadata;
            assert_eq!(metadata.length, Some(bytes.len() as u64), "{path}");
            let digest = ring_sha256(&bytes);
            assert_eq!(
                metadata.hash.iter().next().and_then(|digest| digest.bytes()),
                Some(&digest[..]),
                "{path}"
            );
        }
    }

    fn requests(&self) -> Vec<String> {
        self.fake.take_requests()
    }
}

/// Returns a repository as content, with its records in a folder.
fn harvested(url: &str, folder: PathBuf, options: &HarvestOptions) -> Content {
    let url = RepositoryUrl::parse(url).unwrap();
    let mut http = HttpOptions::new(Scope::for_source(&url.base).unwrap());
    (http.backoff, http.retries) = (Duration::from_millis(1), 2);
    std::fs::create_dir_all(&folder).unwrap();
    let source = HarvestedRepository::new(url, folder, options.clone(), http).unwrap();
    Content::Supplied { supply: Supply(Arc::new(source)), prefix: None }
}

fn ring_sha256(bytes: &[u8]) -> Vec<u8> {
    let mut hasher = resourcesync::Hasher::new([&resourcesync::Algorithm::Sha256]);
    hasher.update(bytes);
    hasher.finish().iter().next().and_then(|digest| digest.bytes()).unwrap().to_vec()
}

fn record_path(number: usize) -> String {
    format!("records/oai_dc/oai:fake:{number:06}.xml")
}
