//! Packages of dumps: the threats D2 and D19 to D21.

use std::{
    io::{Cursor, Write as _},
    sync::Arc,
    time::Duration,
};

use crate::{
    Verify,
    documents::Documents,
    store::{FolderOptions, FolderStore, StagingArea},
    transfer::fetch::{FetchError, Fetcher, Mismatch},
    transfer::package::{OpenPackage, PackageFetchError, Packages},
};
use instep_net::{Client, HttpOptions, Scope};
use instep_testkit::{FakeSource, Layout, Page};
use resourcesync::{Algorithm, DateTime, Entry, Hasher, Link, PackagePath, Relation, Uri};
use zip::{ZipWriter, write::SimpleFileOptions};

struct Bench {
    source: FakeSource,
    packages: Packages,
    documents: Documents,
    folder: tempfile::TempDir,
}

fn uri(text: impl AsRef<str>) -> Uri {
    Uri::parse(text.as_ref()).unwrap()
}

impl Bench {
    fn new() -> Self {
        let mut layout = Layout::new();
        layout.dump = true;
        let source = FakeSource::start_with(layout);
        let mut options = HttpOptions::new(Scope::for_source(&source.url("")).unwrap());
        options.backoff = Duration::from_millis(1);
        let client = Client::new(options).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn StagingArea> =
            Arc::new(FolderStore::open(folder.path(), FolderOptions::new()).unwrap());
        let fetcher = Fetcher::new(client.clone(), store, Verify::All);
        let documents = Documents::new(client, folder.path());
        let packages = Packages::new(fetcher, documents.clone());
        Self { source, packages, documents, folder }
    }

    /// Serves a package of these members and fetches it.
    async fn package(&self, members: &[(&str, &[u8])]) -> Result<OpenPackage, PackageFetchError> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        self.source.serve("p.zip", zip.finish().unwrap().into_inner());
        self.packages.fetch(&Entry::new(uri(self.source.url("p.zip"))), None).await
    }

    fn staged_files(&self) -> usize {
        std::fs::read_dir(self.folder.path().join(".instep/staging")).unwrap().count()
    }
}

fn manifest(entries: &str) -> Vec<u8> {
    format!(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
         xmlns:rs='http://www.openarchives.org/rs/terms/'>\
         <rs:md capability='resourcedump-manifest' at='2026-01-01T00:00:00Z'/>{entries}</urlset>"
    )
    .into_bytes()
}

fn entry(path: &str, length: u64) -> Entry {
    let mut entry = Entry::new(uri("http://example.com/a"));
    entry.metadata.path = Some(PackagePath::new(path));
    entry.metadata.length = Some(length);
    entry
}

#[tokio::test]
async fn a_dump_gives_what_its_manifest_lists() {
    let bench = Bench::new();
    bench.source.put("a", "one");
    bench.source.put("d/b", "two!");
    bench.source.snapshot();
    let dump = bench.documents.open(&uri(bench.source.dump_url()), None).await.unwrap();
    let mut listed = Vec::new();
    dump.for_each(|entry| listed.push(entry.clone())).unwrap();
    let mut package = bench.packages.fetch(&listed[0], dump.origin().as_ref()).await.unwrap();
    let mut entries = Vec::new();
    package.manifest.for_each(|entry| entries.push(entry.clone())).unwrap();
    assert_eq!(entries.len(), 2);
    for entry in &entries {
        let arrival = package.stage(entry).unwrap();
        assert!(arrival.verified);
        assert_eq!(Some(arrival.staged.length), entry.metadata.length);
    }
    assert_eq!(bench.staged_files(), 2, "the package itself is gone");
}

#[tokio::test]
async fn o771_a_manifest_in_a_package_has_the_time_of_the_server_if_that_is_ahead() {
    let bench = Bench::new();
    let manifest = manifest("<url><loc>http://example.com/a</loc></url>");
    let members = [("manifest.xml", &manifest[..])];
    let ahead = DateTime::from_unix_micros(4_102_444_800_000_000);
    let date = bench.package(&members).await.unwrap().manifest.date.unwrap();
    assert!(date < ahead, "no server has stated that time");
    bench.documents.clocks().note(ahead);
    assert_eq!(bench.package(&members).await.unwrap().manifest.date, Some(ahead));
}

#[tokio::test]
async fn a_manifest_can_be_read_without_its_package() {
    let bench = Bench::new();
    bench.source.serve("contents.xml", manifest("<url><loc>http://example.com/a</loc></url>"));
    let mut entry = Entry::new(uri(bench.source.url("p.zip")));
    assert!(bench.packages.contents(&entry, None).await.unwrap().is_none());
    entry.links.push(Link::new(Relation::Contents, uri(bench.source.url("contents.xml"))));
    let manifest = bench.packages.contents(&entry, None).await.unwrap().unwrap();
    assert_eq!(manifest.for_each(|_| {}).unwrap(), 1);
    assert_eq!(bench.source.requests_for("p.zip"), 0);
}

#[tokio::test]
async fn d2_d19_an_unsafe_member_is_never_staged_and_costs_no_other() {
    let bench = Bench::new();
    let good = manifest("");
    let bomb = vec![0; 30 << 20];
    let unsafe_members: [(&str, &[u8]); 4] =
        [("../escape", b"x"), ("/absolute", b"x"), ("a\\..\\..\\x", b"x"), ("bomb", &bomb)];
    for (name, bytes) in unsafe_members {
        let members: [(&str, &[u8]); 3] = [("manifest.xml", &good), (name, bytes), ("a", b"text")];
        let mut package = bench.package(&members).await.unwrap();
        let told = package.unusable().unwrap();
        assert!(told.starts_with("the package has a member that cannot be used: "), "{told}");
        for path in [name.to_owned(), format!("/{name}")] {
            let error = package.stage(&entry(&path, bytes.len() as u64)).unwrap_err();
            assert!(matches!(error, FetchError::Member(_)), "{name}: {error:?}");
        }
        let staged = package.stage(&entry("/a", 4)).unwrap().staged;
        bench.packages.fetcher.store().discard(&[staged.name]);
    }
    assert_eq!(bench.staged_files(), 0);
}

#[tokio::test]
async fn d20_what_is_no_package_is_refused_whole() {
    let bench = Bench::new();
    bench.source.serve("p.zip", Page::from("no package"));
    let error = bench.packages.fetch(&Entry::new(uri(bench.source.url("p.zip"))), None).await.unwrap_err();
    assert!(matches!(error, PackageFetchError::Unsafe { .. }), "{error:?}");
    assert_eq!(bench.staged_files(), 0);
}

#[tokio::test]
async fn d21_a_member_that_is_not_as_listed_concerns_no_other() {
    let bench = Bench::new();
    let good = manifest("");
    let mut package =
        bench.package(&[("manifest.xml", &good), ("a", b"text"), ("extra", b"?")]).await.unwrap();
    let error = package.stage(&entry("/missing", 4)).unwrap_err();
    assert!(matches!(error, FetchError::Member(_)), "{error:?}");
    let error = package.stage(&entry("/../a", 4)).unwrap_err();
    assert!(matches!(error, FetchError::Member(_)), "{error:?}");
    let error = package.stage(&entry("/a", 5)).unwrap_err();
    assert!(matches!(error, FetchError::Mismatch(Mismatch::Length { found: 4, expected: 5 })), "{error:?}");
    assert_eq!(package.stage(&entry("/a", 4)).unwrap().staged.length, 4);
    assert_eq!(bench.staged_files(), 1);
}

#[tokio::test]
async fn o511_a_member_that_the_disk_cannot_take_is_no_member_that_the_package_lacks() {
    let bench = Bench::new();
    let good = manifest("");
    let mut package = bench.package(&[("manifest.xml", &good), ("a", b"text")]).await.unwrap();
    let mut lacking = Vec::new();
    let taken = package.take(&entry("/missing", 4), |error| lacking.push(error.to_string()));
    assert!(matches!(taken, Ok(None)), "{taken:?}");
    std::fs::remove_dir_all(bench.folder.path().join(".instep/staging")).unwrap();
    let taken = package.take(&entry("/a", 4), |error| lacking.push(error.to_string()));
    assert!(taken.is_err(), "{taken:?}");
    assert_eq!(lacking.len(), 1);
}

#[tokio::test]
async fn o339_a_member_in_the_coding_that_its_entry_names_gives_the_form_that_is_listed() {
    let bench = Bench::new();
    let good = manifest("");
    let body = b"text ".repeat(100);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&body).unwrap();
    let coded = encoder.finish().unwrap();
    let sha256 = |bytes: &[u8]| {
        let mut hasher = Hasher::new([&Algorithm::Sha256]);
        hasher.update(bytes);
        hasher.finish()
    };
    let mut package =
        bench.package(&[("manifest.xml", &good), ("coded", &coded), ("plain", &body)]).await.unwrap();
    let mut stage = |path: &str, coding: &str, of: &[u8], length: Option<usize>| {
        let mut entry = entry(path, 0);
        entry.metadata.length = length.map(|length| length as u64);
        (entry.metadata.hash, entry.metadata.encoding) = (sha256(of), Some(coding.into()));
        let staged = package.stage(&entry).map(|arrival| arrival.staged);
        let staged = staged.inspect(|staged| bench.packages.fetcher.store().discard(&[staged.name]));
        staged.map(|staged| staged.length as usize)
    };
    let (whole, packed) = (body.len(), coded.len());
    for length in [None, Some(whole), Some(packed)] {
        assert_eq!(stage("/coded", "gzip", &body, length).unwrap(), whole, "{length:?}");
        assert_eq!(stage("/plain", "gzip", &body, length).unwrap(), whole, "{length:?}");
    }
    assert_eq!(stage("/coded", "x-GZIP", &coded, Some(packed)).unwrap(), packed);
    let error = stage("/coded", "br", &body, None).unwrap_err();
    assert!(matches!(error, FetchError::Mismatch(Mismatch::Digest { .. })), "{error:?}");
    assert_eq!(bench.staged_files(), 0);
}

#[tokio::test]
async fn d21_a_package_that_is_not_as_its_entry_says_is_not_opened() {
    let bench = Bench::new();
    bench.source.serve("p.zip", "PK");
    let mut entry = Entry::new(uri(bench.source.url("p.zip")));
    entry.metadata.length = Some(3);
    let error = bench.packages.fetch(&entry, None).await.unwrap_err();
    assert!(matches!(error, PackageFetchError::Fetch(FetchError::Mismatch(_))), "{error:?}");
}
