//! Synchronization with batches.

use instep_destination::{Strategy, SyncOptions, Via, VoidMonitor, sync};
use instep_testkit::{FakeSource, Fault, Layout};

use crate::support::{Copy, Run, runtime, three};

fn with_batch() -> Copy {
    Copy::laid_out(|layout| layout.batch = true)
}

fn by_batch(copy: &Copy) -> Run {
    copy.sync_with(|options| options.via = Via::Batch)
}

fn requests_for_resources(copy: &Copy) -> usize {
    three().iter().map(|(path, _)| copy.source.requests_for(path)).sum()
}

#[test]
fn a_batch_and_a_list_give_the_same_copy() {
    let copy = with_batch();
    let run = by_batch(&copy);
    assert_eq!((run.exit_code(), run.report().strategy, run.report().created), (0, Strategy::Batch, 3));
    assert_eq!((copy.source.requests_for("batch"), requests_for_resources(&copy)), (1, 0));
    assert_eq!(copy.differences(), [""; 0]);
    let asked = copy.source.requests().into_iter().find(|request| request.path == "batch").unwrap();
    let uris: Vec<String> = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!((asked.method.as_str(), uris.len()), ("POST", 3));
}

#[test]
fn what_is_too_much_at_once_is_asked_for_in_halves() {
    let copy = with_batch();
    copy.source.fail("batch", [Fault::Status(413)]);
    assert_eq!((by_batch(&copy).exit_code(), copy.differences()), (0, vec![]));
    let asked = copy.source.requests().into_iter().filter(|request| request.path == "batch");
    let counts: Vec<_> =
        asked.map(|request| serde_json::from_slice::<Vec<String>>(&request.body).unwrap().len()).collect();
    assert_eq!(counts[..2], [3, 1]);
    assert_eq!(requests_for_resources(&copy), 0);
}

/// Returns a copy of a Source whose URIs are so long that they need two batches.
fn with_two_batches() -> Copy {
    let folder = vec!["l".repeat(240); 13].join("/");
    let resources = (0..1_000).map(|number| (format!("{folder}/{number}"), format!("text {number}")));
    let mut layout = Layout::new();
    layout.batch = true;
    Copy::of(FakeSource::start_with(layout).with_resources(resources))
}

#[test]
fn batches_come_one_after_the_other_and_together_have_everything() {
    let copy = with_two_batches();
    let run = by_batch(&copy);
    assert_eq!((run.exit_code(), run.report().created, copy.differences()), (0, 1_000, vec![]));
    assert_eq!(copy.source.requests_for("batch"), 2);
    assert_eq!(std::fs::read_dir(copy.dir().join(".instep/staging")).unwrap().count(), 0);
}

#[test]
fn a_batch_that_is_refused_breaks_off_the_one_that_was_asked_for_already() {
    let copy = with_two_batches();
    copy.source.fail("batch", [Fault::Body(b"PK but no package".to_vec())]);
    let run = by_batch(&copy);
    assert_eq!((run.exit_code(), run.report().created, copy.differences()), (0, 1_000, vec![]));
    assert_eq!(std::fs::read_dir(copy.dir().join(".instep/staging")).unwrap().count(), 0);
}

#[test]
fn r4_a_batch_asks_for_no_more_than_a_source_reads_of_a_request() {
    let copy = with_two_batches();
    copy.source.fail_always("batch", Fault::Hold);
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.via = Via::Batch;
    let end = options.shutdown.clone();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| runtime().block_on(sync(&options, &VoidMonitor)));
        copy.source.wait_for("batch", 1);
        end.request();
        running.join().unwrap().unwrap();
    });
    copy.source.release();
    let asked = copy.source.requests().into_iter().find(|request| request.path == "batch").unwrap();
    let uris: Vec<String> = serde_json::from_slice(&asked.body).unwrap();
    assert!(asked.body.len() <= 3 << 20 && uris.len() > 900, "{} in {}", uris.len(), asked.body.len());
}

#[test]
fn d33_what_a_batch_has_wrong_is_fetched_by_its_uri() {
    let copy = with_batch();
    copy.source.pack_instead("a.txt", "one", "bad");
    assert_eq!((by_batch(&copy).exit_code(), copy.differences()), (0, vec![]));
    assert_eq!((copy.source.requests_for("a.txt"), requests_for_resources(&copy)), (1, 1));
}

#[test]
fn d19_a_batch_that_is_no_safe_package_costs_nothing_but_requests() {
    for fault in [Fault::Body(b"PK but no package".to_vec()), Fault::Status(400), Fault::Truncate(200)] {
        let copy = with_batch();
        copy.source.fail_always("batch", fault);
        assert_eq!((by_batch(&copy).exit_code(), copy.differences()), (0, vec![]));
        assert_eq!(requests_for_resources(&copy), 3);
    }
}

#[test]
fn c7_a_body_over_the_limit_of_the_server_is_split_and_what_stays_too_large_comes_by_requests() {
    // A server that accepts one URI at a time, and a proxy in front of a Source, which accepts none.
    for (limit, brought) in [(1, 0), (0, 3)] {
        let copy = with_batch();
        if limit == 0 {
            copy.source.fail_always("batch", Fault::Status(413));
        } else {
            copy.source.fail("batch", [Fault::Status(413)]);
        }
        let run = by_batch(&copy);
        assert_eq!((run.exit_code(), copy.differences()), (0, vec![]));
        assert_eq!(requests_for_resources(&copy), brought, "{limit}");
        let asked = copy.source.requests().into_iter().filter(|request| request.path == "batch");
        let counts: Vec<_> = asked
            .map(|request| serde_json::from_slice::<Vec<String>>(&request.body).unwrap().len())
            .collect();
        assert!(counts[0] == 3 && counts[1..].iter().all(|count| *count < 3), "{limit}: {counts:?}");
    }
}
