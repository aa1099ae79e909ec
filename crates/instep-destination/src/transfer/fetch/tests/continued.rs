//! Transfers that break off, and answers that are parts (D32, B1, B7).

use super::*;

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

/// No digest is listed, so only validators and totals distinguish versions.
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

/// Returns a bench for the resource of a server that is not its own Source.
fn bench_of(url: &str) -> Bench {
    let mut bench = Bench::new();
    let mut options = HttpOptions::new(Scope::for_source(url).unwrap());
    options.backoff = Duration::from_millis(1);
    bench.fetcher =
        Fetcher::new(Client::new(options).unwrap(), Arc::clone(bench.fetcher.store()), Verify::Strongest);
    bench
}

#[tokio::test]
async fn b7_a_chunked_body_without_its_last_chunk_is_never_whole() {
    let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n";
    let url = raw_server(vec![head]);
    let bench = bench_of(&url);
    let mut task = Task::new(uri(&url), ());
    task.expected.length = Some(4);
    let error = bench.error(&task).await;
    assert!(matches!(error, FetchError::Http(HttpError::Transfer { .. })), "{error:?}");
    assert_eq!(bench.staged_files(), 0);
}

#[tokio::test]
async fn o393_a_part_that_has_more_bytes_than_its_range_is_not_taken() {
    let url = raw_server(vec![
        "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 8\r\n\r\nabcd",
        "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 4-7/8\r\nContent-Length: 8\r\n\r\nefghmore",
        "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 8\r\n\r\nabcdefgh",
    ]);
    let bench = bench_of(&url);
    assert_eq!(bench.bytes(&Task::new(uri(&url), ())).await, b"abcdefgh");
    assert_eq!(bench.staged_files(), 1);
}

#[tokio::test]
async fn o856_a_rest_is_not_taken_if_nothing_shows_its_end() {
    let url = raw_server(vec![
        "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n",
        "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 4-5/*\r\nContent-Length: 2\r\n\r\nef",
        "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 8\r\n\r\nabcdefgh",
    ]);
    let bench = bench_of(&url);
    assert_eq!(bench.bytes(&Task::new(uri(&url), ())).await, b"abcdefgh");
    assert_eq!(bench.staged_files(), 1);
}
