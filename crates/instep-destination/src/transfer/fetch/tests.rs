//! Fetches of resources from servers with and without faults: the threats D22, D27 and D30 to D34.

mod bench;
mod codings;
mod continued;
mod faults;

use std::{sync::Arc, time::Duration};

use bench::{Bench, large, raw_server, sha256, uri};
use instep_net::{Client, HttpError, HttpOptions, Scope, Validators};
use instep_testkit::{FakeSource, Fault, Page};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    Verify,
    transfer::fetch::{FetchError, FetchOutcome, Fetcher, Mismatch, Task},
};

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
        // There are two requests, for the first part and for the whole, and at least one more if it continues in parts.
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
async fn o278_an_unknown_coding_is_named_also_if_a_length_is_listed() {
    let bench = Bench::new();
    bench.source.serve("a", Page::from("coded").with_header("content-encoding", "br"));
    let error = bench.error(&bench.expecting("a", b"longer text")).await;
    assert!(matches!(&error, FetchError::Coding { coding } if coding == "br"), "{error:?}");
    assert_eq!(bench.bytes(&bench.expecting("a", b"coded")).await, b"coded");
    assert_eq!(bench.staged_files(), 1);
}

#[tokio::test]
async fn o392_what_is_listed_as_it_arrives_need_not_be_in_the_coding_that_the_server_states() {
    let bench = Bench::new();
    let padded = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, b"text").unwrap();
        [encoder.finish().unwrap(), vec![1; 100]].concat()
    };
    for body in [padded, b"text".to_vec()] {
        bench.source.serve("a", Page::from(body.clone()).with_header("content-encoding", "gzip"));
        assert_eq!(bench.bytes(&bench.expecting("a", &body)).await, body);
        let error = bench.error(&bench.task("a")).await;
        assert!(matches!(error, FetchError::Coding { .. }), "{error:?}");
    }
    assert_eq!(bench.staged_files(), 2);
}

#[tokio::test]
async fn o341_what_a_proxy_may_have_changed_is_taken_if_a_digest_shows_that_it_did_not() {
    let bench = Bench::new();
    bench.source.put("a", "text");
    bench.source.fail_always("a", Fault::StatusBeside(203));
    assert_eq!(bench.bytes(&bench.expecting("a", b"text")).await, b"text");
    let error = bench.error(&bench.expecting("a", b"TEXT")).await;
    assert!(matches!(error, FetchError::Mismatch(_)), "{error:?}");
    let error = bench.error(&bench.task("a")).await;
    assert!(matches!(error, FetchError::Transformed), "{error:?}");
    assert!(error.to_string().contains("203"), "{error}");
    assert_eq!(bench.staged_files(), 1);
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
        tasks.send(Box::new(bench.expecting(&path, body.as_bytes()))).await.unwrap();
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
        tasks.send(Box::new(Task::new(uri(stalled.url("a")), ()))).await.unwrap();
    }
    tasks.send(Box::new(bench.task("a"))).await.unwrap();
    drop(tasks);
    let (task, outcome) = done.recv().await.unwrap();
    assert_eq!(task.uri, bench.task("a").uri);
    assert!(matches!(outcome, FetchOutcome::Staged(_)), "{outcome:?}");
    running.abort();
    stalled.release();
}
