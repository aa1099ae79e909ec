//! Lists that ended although records may be missing: the records are compared with those of the repository.

use std::time::Duration;

use instep_testkit::{FakeRepository, RepositoryFault::*};
use rusqlite::Connection;

use crate::Bench;

/// States the size of a list in the part whose request has this text.
fn state_size(bench: &Bench, request: &str, size: usize) {
    let token = format!("<resumptionToken completeListSize=\"{size}\" cursor=\"0\"");
    bench.fake.fail(request, [Replace("<resumptionToken".to_owned(), token)]);
}

#[test]
fn o779_a_list_without_a_size_that_lost_its_token_and_is_in_another_order_lacks_no_record() {
    let bench = Bench::new(FakeRepository::with_records(25));
    // The last five records are older than the others.
    bench.fake.edit(|layout| {
        for (number, record) in layout.records.iter_mut().enumerate().skip(20) {
            record.datestamp = format!("2025-01-01T00:00:{number:02}Z");
        }
    });
    bench.fake.fail("0!10!", [Error("badResumptionToken")]);
    assert_eq!(bench.publish().resources, 25);
    bench.assert_files_are_there();
    // The comparison has shown that nothing is missing any more.
    bench.requests();
    assert!(bench.publish().is_nothing_new());
    assert!(bench.requests().iter().all(|request| !request.contains("ListIdentifiers")));
}

#[test]
fn o779_records_with_the_last_datestamp_do_not_hide_those_that_are_older() {
    let bench = Bench::new(FakeRepository::with_records(13));
    // The first ten records were changed at once, after the others.
    bench.fake.edit(|layout| {
        for record in layout.records.iter_mut().take(10) {
            record.datestamp = "2026-01-10T00:00:00Z".to_owned();
        }
    });
    state_size(&bench, "verb=ListRecords&metadataPrefix", 13);
    bench.fake.fail("0!10!", [Error("badResumptionToken")]);
    assert_eq!(bench.publish().resources, 13);
}

#[test]
fn o782_a_first_list_that_is_cut_off_lacks_no_record() {
    let bench = Bench::new(FakeRepository::with_records(25));
    bench.fake.fail("0!10!", [Error("noRecordsMatch")]);
    assert_eq!(bench.publish().resources, 25);

    // The second part lost its token.
    let bench = Bench::new(FakeRepository::with_records(25));
    state_size(&bench, "verb=ListRecords&metadataPrefix", 25);
    bench.fake.fail("0!10!", [Replace("resumptionToken".to_owned(), "lost".to_owned())]);
    let named = ["ended after 20 records, and the repository states 25"];
    assert_eq!(bench.publish_with_problems(&named).resources, 25);

    let bench = Bench::new(FakeRepository::with_records(15));
    let fatal = "<error code=\"badArgument\">out of memory</error><lost".to_owned();
    bench.fake.fail("verb=ListRecords&metadataPrefix", [Replace("<resumptionToken".to_owned(), fatal)]);
    assert_eq!(bench.publish_with_problems(&["answers badArgument beside records"]).resources, 15);
}

/// Returns a repository with 20 records, of which the last list lacked five.
fn with_a_later_list_that_is_cut_off() -> Bench {
    let bench = Bench::new(FakeRepository::with_records(5));
    bench.publish();
    bench.fake.edit(|layout| {
        for number in 0..15 {
            let (identifier, datestamp) =
                (format!("oai:fake:new{number}"), format!("2026-02-01T00:00:{number:02}Z"));
            layout.records.push(instep_testkit::FakeRecord::new(&identifier, &datestamp, "New"));
        }
        layout.now = "2026-02-02T00:00:00Z".to_owned();
    });
    state_size(&bench, "verb=ListRecords&metadataPrefix", 15);
    bench.fake.fail("0!10!", [Error("noRecordsMatch")]);
    let named = ["ended after 10 records, and the repository states 15"];
    assert_eq!(bench.publish_with_problems(&named).resources, 15);
    bench
}

#[test]
fn o782_a_later_list_that_is_cut_off_is_compared_when_the_last_comparison_is_old_enough() {
    let mut bench = with_a_later_list_that_is_cut_off();
    assert!(bench.publish().is_nothing_new(), "not yet");
    bench.options.inventory_every = Duration::ZERO;
    assert_eq!(bench.publish().resources, 20);
}

#[test]
fn o868_a_repository_that_lists_deletions_is_not_compared_each_day_for_lists_that_are_cut_off() {
    let bench = with_a_later_list_that_is_cut_off();
    let age = |days: i64| {
        let state = Connection::open(bench.folder().join(".instep/harvest/harvest.db")).unwrap();
        // It is negative because a list since then may lack records.
        state.execute("UPDATE list SET inventoried_at = inventoried_at + ?1", [days * 86_400]).unwrap();
    };
    age(3);
    bench.requests();
    assert!(bench.publish().is_nothing_new());
    assert!(bench.requests().iter().all(|request| !request.contains("ListIdentifiers")));
    age(5);
    assert_eq!(bench.publish().resources, 20);
}

#[test]
fn o781_an_empty_last_part_that_says_so_ends_a_list_of_everything() {
    let mut bench = Bench::new(FakeRepository::with_records(11));
    bench.fake.edit(|layout| layout.deleted_record = "no".to_owned());
    bench.publish();
    bench.options.inventory_every = Duration::ZERO;
    bench.fake.edit(|layout| layout.records.remove(3));
    let more = "<resumptionToken>0!10!metadataPrefix=oai_dc</resumptionToken>".to_owned();
    bench.fake.fail(
        "verb=ListIdentifiers&metadataPrefix",
        [Replace("<resumptionToken/>".to_owned(), more.clone())],
    );
    // The same without a word about the end: the rest may have been lost (B34).
    let end = || Replace("<resumptionToken/>".to_owned(), String::new());
    bench.fake.fail("verb=ListIdentifiers&resumptionToken", [end()]);
    assert_eq!(bench.publish().deleted, 0);
    bench.fake.fail("verb=ListIdentifiers&metadataPrefix", [Replace("<resumptionToken/>".to_owned(), more)]);
    let report = bench.publish();
    assert_eq!((report.deleted, report.resources), (1, 10));
}
