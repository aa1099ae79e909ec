//! Resources to staged files, from servers good and bad: rows D22, D27 and D30 to D34 of the threats, by their ids.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    Verify,
    store::{FolderOptions, FolderStore, Store},
    transfer::fetch::{FetchError, FetchOutcome, Fetcher, Mismatch, PartSizes, Task},
};
use instep_net::{Client, HttpError, HttpOptions, Scope, Validators};
use instep_testkit::{FakeSource, Fault, Page};
use resourcesync::{Algorithm, Digests, Hasher, Uri};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A resource of this many bytes comes in parts.
const PARTS_FROM: u64 = 3_500_000;

struct Bench {
    source: FakeSource,
    folder: tempfile::TempDir,
    fetcher: Fetcher,
}

fn uri(text: impl AsRef<str>) -> Uri {
    Uri::parse(text.as_ref()).unwrap()
}

fn sha256(bytes: &[u8]) -> Digests {
    let mut hasher = Hasher::new([&Algorithm::Sha256]);
    hasher.update(bytes);
    hasher.finish()
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut HttpOptions)) -> Self {
        let source = FakeSource::start();
        let mut options = HttpOptions::new(Scope::for_source(&source.url("")).unwrap());
        options.backoff = Duration::from_millis(1);
        change(&mut options);
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(FolderStore::open(folder.path(), FolderOptions::new()).unwrap());
        let parts = PartSizes::new(PARTS_FROM, 400_000);
        let fetcher = Fetcher::with_parts(Client::new(options).unwrap(), store, Verify::Strongest, parts);
        Self { source, folder, fetcher }
    }

    fn task(&self, path: &str) -> Task<()> {
        Task::new(uri(self.source.url(path)), ())
    }

    /// A task that expects these bytes.
    fn expecting(&self, path: &str, body: &[u8]) -> Task<()> {
        let mut task = self.task(path);
        task.expected.length = Some(body.len() as u64);
        task.expected.digests = sha256(body);
        task
    }

    fn staging(&self) -> PathBuf {
        self.folder.path().join(".instep/staging")
    }

    fn staged_files(&self) -> usize {
        std::fs::read_dir(self.staging()).unwrap().count()
    }

    /// The bytes that were staged for a task.
    async fn bytes(&self, task: &Task<()>) -> Vec<u8> {
        match self.fetcher.fetch(task).await {
            FetchOutcome::Staged(arrival) => {
                let bytes = std::fs::read(self.staging().join(arrival.staged.name.to_string())).unwrap();
                assert_eq!(bytes.len() as u64, arrival.staged.length);
                bytes
            }
            other => panic!("not staged: {other:?}"),
        }
    }

    async fn error(&self, task: &Task<()>) -> FetchError {
        match self.fetcher.fetch(task).await {
            FetchOutcome::Failed(error) => error,
            other => panic!("no error: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_resource_is_staged_verified_and_described() {
    let bench = Bench::new();
    bench.source.serve("a", Page::from("text").with_header("content-type", "text/plain"));
    let FetchOutcome::Staged(arrival) = bench.fetcher.fetch(&bench.expecting("a", b"text")).await else {
        panic!()
    };
    assert!(arrival.verified);
    assert_eq!(arrival.staged.digests, sha256(b"text"));
    assert_eq!(arrival.media_type.as_deref(), Some("text/plain"));
    assert_eq!(bench.fetcher.bytes(), 4);
}

#[tokio::test]
async fn d27_a_redirect_changes_nothing_but_where_the_bytes_come_from() {
    let bench = Bench::new();
    bench
        .source
        .serve(".bashrc", Page::from("text").with_header("content-disposition", "attachment; filename=x"));
    bench.source.fail_always("a", Fault::Redirect(bench.source.url(".bashrc")));
    let task = bench.expecting("a", b"text");
    assert_eq!(bench.bytes(&task).await, b"text");
    assert_eq!(task.uri, uri(bench.source.url("a")));
}

#[tokio::test]
async fn d31_a_login_page_for_everything_replaces_nothing() {
    let bench = Bench::new();
    bench.source.serve("a", Page::from("<html>Log in").with_header("content-type", "text/html"));
    assert!(matches!(bench.error(&bench.expecting("a", b"text")).await, FetchError::Mismatch(_)));
    assert_eq!(bench.staged_files(), 0);
}

/// Large enough to arrive in several pieces.
fn large() -> Vec<u8> {
    (0..3_000_000_u32).map(|number| (number % 251) as u8).collect()
}

#[tokio::test]
async fn d32_a_broken_transfer_goes_on_where_it_broke_if_the_server_can() {
    for then in [
        vec![],
        vec![Fault::RangeIgnored],
        vec![Fault::RangeShifted],
        vec![Fault::RangeMultipart],
        vec![Fault::Status(416)],
        vec![Fault::Header("etag", "\"other\"".to_owned())],
    ] {
        let bench = Bench::new();
        let body = large();
        bench.source.put("a", body.clone());
        let faults: Vec<_> = [Fault::Reset(1_500_000)].into_iter().chain(then.clone()).collect();
        bench.source.fail("a", faults);
        assert!(bench.bytes(&bench.expecting("a", &body)).await == body, "{then:?}");
        let second = &bench.source.requests()[1];
        assert!(second.header("range").is_some_and(|range| range.starts_with("bytes=")), "{then:?}");
        assert!(second.header("if-range").is_some(), "{then:?}");
        assert_eq!(bench.staged_files(), 1, "{then:?}");
    }
}

#[tokio::test]
async fn d32_a_resource_that_changed_in_between_is_fetched_whole() {
    let bench = Bench::new();
    bench.source.put("a", large());
    bench.source.fail("a", [Fault::Truncate(1_000_000), Fault::Status(503)]);
    let fetch = bench.fetcher.clone();
    let new = vec![b'n'; 2_000_000];
    let task = bench.task("a");
    let fetching = tokio::spawn(async move { fetch.fetch(&task).await });
    while bench.source.requests_for("a") < 1 {
        tokio::task::yield_now().await;
    }
    bench.source.put("a", new.clone());
    let FetchOutcome::Staged(arrival) = fetching.await.unwrap() else { panic!() };
    let bytes = std::fs::read(bench.staging().join(arrival.staged.name.to_string())).unwrap();
    assert!(bytes == new || bytes == large(), "one state or the other, never a mix");
}

#[tokio::test]
async fn a_very_large_resource_comes_in_parts_where_the_server_allows() {
    let body = large().repeat(2);
    for (faults, in_parts) in [
        (vec![], true),
        (vec![Fault::Header("x-first", "1".to_owned()), Fault::Reset(100_000), Fault::Status(503)], true),
        (vec![Fault::RangeIgnored], false),
        (vec![Fault::Header("x-first", "1".to_owned()), Fault::RangeShifted], true),
    ] {
        let bench = Bench::new();
        bench.source.put("a", body.clone());
        bench.source.fail("a", faults.clone());
        assert!(bench.bytes(&bench.expecting("a", &body)).await == body, "{faults:?}");
        // The first part and the whole; where it goes on in parts, one more at least.
        assert_eq!(bench.source.requests_for("a") > 2, in_parts, "{faults:?}");
        assert_eq!(bench.staged_files(), 1, "{faults:?}");
    }
}

#[tokio::test]
async fn d33_what_is_wrong_is_fetched_once_more_and_then_told() {
    let bench = Bench::new();
    bench.source.put("a", "text");
    bench.source.fail("a", [Fault::Flip]);
    assert_eq!(bench.bytes(&bench.expecting("a", b"text")).await, b"text");
    assert_eq!(bench.source.requests_for("a"), 2);

    bench.source.forget_requests();
    let wrong_digest = bench.error(&bench.expecting("a", b"tixt")).await;
    assert!(matches!(wrong_digest, FetchError::Mismatch(Mismatch::Digest { .. })), "{wrong_digest:?}");
    assert_eq!(bench.source.requests_for("a"), 2);
    let wrong_length = bench.error(&bench.expecting("a", b"longer text")).await;
    assert!(
        matches!(wrong_length, FetchError::Mismatch(Mismatch::Length { found: 4, expected: 11 })),
        "{wrong_length:?}"
    );
    assert_eq!(bench.staged_files(), 1);
}

#[tokio::test]
async fn d33_a_body_longer_than_listed_is_cut_off_early() {
    let bench = Bench::new();
    bench.source.put("a", large());
    bench.source.fail_always("a", Fault::Endless);
    let error = bench.error(&bench.expecting("a", b"text")).await;
    assert!(matches!(error, FetchError::Mismatch(Mismatch::Length { expected: 4, .. })), "{error:?}");
    assert_eq!(bench.staged_files(), 0);
}

#[tokio::test]
async fn d34_a_server_that_compresses_unasked_gives_the_form_that_is_listed() {
    let bench = Bench::new();
    let body = b"text ".repeat(100);
    bench.source.put("a", body.clone());
    bench.source.fail_always("a", Fault::Gzip);
    assert_eq!(bench.bytes(&bench.expecting("a", &body)).await, body);
    let coded = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, &body).unwrap();
        encoder.finish().unwrap()
    };
    let mut task = bench.expecting("b", &coded);
    task.expected.encoding = Some("gzip".into());
    bench.source.serve("b", Page::from(coded.clone()).with_header("content-encoding", "gzip"));
    assert_eq!(bench.bytes(&task).await, coded);
    bench.source.serve("c", Page::from("?").with_header("content-encoding", "br"));
    assert!(matches!(bench.error(&bench.task("c")).await, FetchError::Coding { .. }));
    assert_eq!(bench.staged_files(), 2);
}

#[tokio::test]
async fn a_truncated_body_is_asked_for_again_and_never_staged() {
    let bench = Bench::new();
    bench.source.put("a", "text");
    bench.source.fail("a", [Fault::Truncate(2), Fault::Truncate(0), Fault::Reset(1)]);
    assert_eq!(bench.bytes(&bench.expecting("a", b"text")).await, b"text");
    bench.source.fail_always("a", Fault::Truncate(0));
    let error = bench.error(&bench.task("a")).await;
    assert!(matches!(error, FetchError::Http(HttpError::Transfer { .. })), "{error:?}");
    assert_eq!(bench.staged_files(), 1);
}

#[tokio::test]
async fn what_is_gone_and_what_is_held_are_told_apart() {
    let bench = Bench::new();
    bench.source.put("a", "text");
    let FetchOutcome::Staged(arrival) = bench.fetcher.fetch(&bench.task("a")).await else { panic!() };
    let mut task = bench.task("a");
    task.held = Some(Validators::new(arrival.validators.strong_etag(), None));
    assert!(matches!(bench.fetcher.fetch(&task).await, FetchOutcome::NotModified { .. }));
    bench.source.delete("a");
    assert!(matches!(bench.fetcher.fetch(&task).await, FetchOutcome::Gone { status: 404 }));
    bench.source.fail_always("b", Fault::Status(410));
    assert!(matches!(bench.fetcher.fetch(&bench.task("b")).await, FetchOutcome::Gone { status: 410 }));
    bench.source.fail_always("c", Fault::Status(403));
    assert_eq!(bench.source.requests_for("c"), 0);
    let FetchError::Http(error) = bench.error(&bench.task("c")).await else { panic!() };
    assert_eq!(error.status().unwrap().as_u16(), 403);
    assert_eq!(bench.source.requests_for("c"), 1);
}

#[tokio::test]
async fn d22_mirrors_are_tried_in_order_and_one_out_of_scope_is_passed_over() {
    let bench = Bench::new();
    let other = FakeSource::start().with_resources([("m", "text")]);
    for path in ["own", "good"] {
        bench.source.serve(path, "text");
    }
    bench.source.serve("wrong", "tixt");
    let mut task = bench.expecting("own", b"text");
    task.mirrors = [other.url("m"), "ftp://mirror.example.org/m".to_owned()].map(uri).to_vec();
    task.mirrors.extend(["gone", "wrong", "good"].map(|path| uri(bench.source.url(path))));
    assert_eq!(bench.bytes(&task).await, b"text");
    assert_eq!(other.connections(), 0);
    assert_eq!((bench.source.requests_for("good"), bench.source.requests_for("own")), (1, 0));
    task.mirrors.pop();
    assert_eq!(bench.bytes(&task).await, b"text");
    assert_eq!(bench.source.requests_for("own"), 1);
}

#[tokio::test]
async fn d30_a_fifth_of_faults_costs_nothing_but_time() {
    let bench = Bench::new();
    let (tasks, waiting) = mpsc::channel(64);
    let (outcomes, mut done) = mpsc::channel(64);
    let fetcher = bench.fetcher.clone();
    let running = tokio::spawn(async move { fetcher.run(waiting, outcomes, CancellationToken::new()).await });
    for number in 0..200_u32 {
        let path = format!("r/{number}");
        let body = number.to_string().repeat(50);
        bench.source.put(&path, body.clone());
        match number % 10 {
            3 => bench.source.fail(&path, [Fault::Status(500), Fault::Reset(20)]),
            7 => bench.source.fail(&path, [Fault::Truncate(10), Fault::Status(503)]),
            _ => {}
        }
        tasks.send(bench.expecting(&path, body.as_bytes())).await.unwrap();
        while let Ok((task, outcome)) = done.try_recv() {
            assert!(matches!(outcome, FetchOutcome::Staged(_)), "{}: {outcome:?}", task.uri);
        }
    }
    drop(tasks);
    let mut last = 0;
    while let Some((task, outcome)) = done.recv().await {
        assert!(matches!(outcome, FetchOutcome::Staged(_)), "{}: {outcome:?}", task.uri);
        last += 1;
    }
    running.await.unwrap();
    assert!(last <= 200);
    assert_eq!(bench.staged_files(), 200);
}

#[tokio::test]
async fn b1_a_206_that_nobody_asked_for_is_a_failed_transfer() {
    let bench = Bench::new();
    bench.source.put("a", "text");
    bench.source.fail_always("a", Fault::Status(206));
    let mut task = bench.task("a");
    for held in [None, Some(Validators::new(Some("\"old\""), None))] {
        task.held = held;
        let FetchError::Http(error) = bench.error(&task).await else { panic!() };
        assert_eq!(error.status().unwrap().as_u16(), 206);
    }
    assert_eq!(bench.staged_files(), 0);
}

#[tokio::test]
async fn b1_a_mirror_that_answers_206_does_not_hide_the_resource() {
    let bench = Bench::new();
    bench.source.serve("own", "text");
    bench.source.serve("mirror", "text");
    bench.source.fail_always("mirror", Fault::Status(206));
    let mut task = bench.task("own");
    task.mirrors = vec![uri(bench.source.url("mirror"))];
    assert_eq!(bench.bytes(&task).await, b"text");
    assert_eq!((bench.source.requests_for("mirror"), bench.source.requests_for("own")), (1, 1));
}

/// No digest is listed: only validators and totals can tell versions apart.
#[tokio::test]
async fn b7_a_continuation_needs_a_strong_validator_and_the_same_total() {
    let header = |name, value: &str| Fault::Header(name, value.to_owned());
    for (then, continues) in [
        (vec![], true),
        (vec![header("etag", "")], false),
        (vec![header("etag", "W/\"weak\"")], false),
        (vec![header("etag", "\"other\"")], false),
        (vec![header("content-range", "bytes 1000000-2999999/3000001")], false),
        (vec![header("content-range", "bytes 999999-2999999/3000000")], false),
    ] {
        let bench = Bench::new();
        bench.source.put("a", large());
        let faults: Vec<_> = [Fault::Truncate(1_000_000)].into_iter().chain(then.clone()).collect();
        bench.source.fail("a", faults);
        assert!(bench.bytes(&bench.task("a")).await == large(), "{then:?}");
        let requests = bench.source.requests();
        assert!(requests[1].header("if-range").is_some(), "{then:?}");
        assert_eq!(requests.len() == 2, continues, "{then:?}");
        assert!(continues || requests[2].header("range").is_none(), "{then:?}");
    }
}

#[tokio::test]
async fn b7_without_a_validator_a_broken_transfer_starts_again() {
    let bench = Bench::new();
    let body = large();
    let weak = Page::from(body.clone()).with_header("etag", "W/\"weak\"");
    bench.source.serve("b", weak);
    bench.source.fail("b", [Fault::Truncate(1_000_000)]);
    assert!(bench.bytes(&bench.task("b")).await == body);
    assert!(bench.source.requests().iter().all(|request| request.header("range").is_none()));
}

#[tokio::test]
async fn b7_parts_of_another_version_are_not_mixed() {
    let body = large().repeat(2);
    let header = |name, value: &str| Fault::Header(name, value.to_owned());
    for fault in [
        header("etag", ""),
        header("etag", "\"other\""),
        header("content-range", "bytes 400000-799999/6000001"),
    ] {
        let bench = Bench::new();
        bench.source.put("a", body.clone());
        bench.source.fail("a", [header("x-first", "1"), fault.clone()]);
        let mut task = bench.task("a");
        task.expected.length = Some(body.len() as u64);
        assert!(bench.bytes(&task).await == body, "{fault:?}");
    }
}

/// Answers each connection with the next of these texts; the last one serves all that follow.
fn raw_server(answers: Vec<&'static str>) -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut answers = answers.into_iter().peekable();
        let mut answer = "";
        for mut stream in listener.incoming().flatten() {
            answer = answers.next().unwrap_or(answer);
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

#[tokio::test]
async fn b7_a_chunked_body_without_its_last_chunk_is_never_whole() {
    let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n";
    let url = raw_server(vec![head]);
    let mut bench = Bench::new();
    let mut options = HttpOptions::new(Scope::for_source(&url).unwrap());
    options.backoff = Duration::from_millis(1);
    bench.fetcher =
        Fetcher::new(Client::new(options).unwrap(), Arc::clone(bench.fetcher.store()), Verify::Strongest);
    let mut task = Task::new(uri(&url), ());
    task.expected.length = Some(4);
    let error = bench.error(&task).await;
    assert!(matches!(error, FetchError::Http(HttpError::Transfer { .. })), "{error:?}");
    assert_eq!(bench.staged_files(), 0);
}

#[tokio::test]
async fn b22_validators_stay_with_the_uri_that_they_came_from() {
    let bench = Bench::new();
    bench.source.put("own", "text");
    let FetchOutcome::Staged(own) = bench.fetcher.fetch(&bench.task("own")).await else { panic!() };
    let etag = own.validators.strong_etag().unwrap();
    bench.source.serve("mirror", Page::from("text").with_header("etag", etag));
    let mut task = bench.task("own");
    task.mirrors = vec![uri(bench.source.url("mirror"))];
    let FetchOutcome::Staged(arrival) = bench.fetcher.fetch(&task).await else { panic!() };
    assert!(arrival.validators.is_empty(), "those of the mirror say nothing about the resource");
    assert_eq!(bench.source.requests_for("mirror"), 1);

    task.held = Some(own.validators.clone());
    assert!(matches!(bench.fetcher.fetch(&task).await, FetchOutcome::NotModified { .. }));
    bench.source.forget_requests();
    bench.source.fail_always("own", Fault::Status(403));
    assert_eq!(bench.bytes(&task).await, b"text", "the mirror is not asked about a tag of another server");
    let requests = bench.source.requests();
    assert!(requests[0].header("if-none-match").is_some() && requests[1].header("if-none-match").is_none());
}

#[tokio::test]
async fn b17_a_host_that_stalls_blocks_no_other() {
    let stalled = FakeSource::start();
    stalled.fail_always("a", Fault::Hold);
    let bench = Bench::with(|options| {
        options.scope.named.push(instep_net::Origin::parse(&stalled.url("")).unwrap());
    });
    bench.source.put("a", "text");
    let (tasks, waiting) = mpsc::channel(64);
    let (outcomes, mut done) = mpsc::channel(64);
    let (fetcher, enough) = (bench.fetcher.clone(), CancellationToken::new());
    let running = {
        let enough = enough.clone();
        tokio::spawn(async move { fetcher.run(waiting, outcomes, enough).await })
    };
    for _ in 0..40 {
        tasks.send(Task::new(uri(stalled.url("a")), ())).await.unwrap();
    }
    tasks.send(bench.task("a")).await.unwrap();
    drop(tasks);
    let (task, outcome) = done.recv().await.unwrap();
    assert_eq!(task.uri, bench.task("a").uri);
    assert!(matches!(outcome, FetchOutcome::Staged(_)), "{outcome:?}");
    running.abort();
    stalled.release();
}
