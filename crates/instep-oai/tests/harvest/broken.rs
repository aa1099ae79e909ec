//! Repositories with the faults that real repositories have.

use instep_testkit::{FakeRecord, FakeRepository, RepositoryFault::*};

use crate::{Bench, record_path};

#[test]
fn a_harvest_that_was_interrupted_goes_on_with_its_token() {
    let bench = Bench::new(FakeRepository::with_records(45));
    bench.fake.fail("0!20!", std::iter::repeat_n(Status(500, "X-Broken: 1"), 20));
    let (first, _) = bench.try_publish();
    let error = instep_source_error(first.unwrap_err());
    assert!(error.contains("500"), "{error}");
    bench.fake.heal();
    bench.requests();
    assert_eq!(bench.publish().resources, 45);
    let requests = bench.requests();
    assert!(requests[1].contains("resumptionToken=0%2120%21"), "{requests:?}");
    assert_eq!(requests.len(), 4, "{requests:?}");
    bench.assert_files_are_there();
}

#[test]
fn o997_after_the_rest_of_an_old_list_what_is_new_since_is_harvested_too() {
    let bench = Bench::new(FakeRepository::with_records(45));
    bench.fake.fail("0!20!", std::iter::repeat_n(Status(500, "X-Broken: 1"), 20));
    assert!(bench.try_publish().0.is_err());
    bench.fake.heal();
    // The record comes before the rest of the list.
    bench.fake.edit(|layout| {
        layout.now = "2026-02-03T00:00:00Z".to_owned();
        *layout.record("oai:fake:000003") =
            FakeRecord::new("oai:fake:000003", "2026-02-02T00:00:00Z", "Another title");
    });
    bench.requests();
    assert_eq!(bench.publish().resources, 45);
    let requests = bench.requests();
    assert!(requests[1].contains("resumptionToken=0%2120%21"), "{requests:?}");
    assert!(requests.last().unwrap().ends_with("&from=2026-01-31T23%3A50%3A00Z"), "{requests:?}");
    assert!(bench.publish().is_nothing_new());
}

fn instep_source_error(error: instep_source::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[test]
fn an_expired_token_goes_on_from_the_last_datestamp() {
    let bench = Bench::new(FakeRepository::with_records(45));
    bench.fake.fail("0!20!", [Error("badResumptionToken")]);
    assert_eq!(bench.publish().resources, 45);
    let requests = bench.requests();
    let again = requests.iter().find(|request| request.contains("&from=")).unwrap();
    assert!(again.ends_with("&from=2026-01-01T00%3A00%3A19Z"), "{requests:?}");
}

#[test]
fn a_token_that_expired_with_a_status_of_http_goes_on_as_well() {
    for status in [400, 404, 410, 422] {
        let bench = Bench::new(FakeRepository::with_records(45));
        bench.fake.fail("0!20!", [Status(status, "X-Expired: 1")]);
        assert_eq!(bench.publish().resources, 45, "{status}");
        assert!(bench.requests().iter().any(|request| request.contains("&from=")), "{status}");
    }
}

#[test]
fn a_repository_that_denies_its_last_record_is_listed_from_the_begin() {
    let bench = Bench::new(FakeRepository::with_records(45));
    bench.fake.fail("0!20!", [Error("badResumptionToken")]);
    bench.fake.fail("from=2026-01-01T00:00:19Z", [Error("noRecordsMatch")]);
    assert_eq!(bench.publish().resources, 45);
}

#[test]
fn an_expired_token_of_a_list_in_no_order_begins_the_list_again() {
    let bench = Bench::new(FakeRepository::with_records(45));
    bench.fake.edit(|layout| layout.records.swap(5, 40));
    bench.fake.fail("0!20!", [Error("badResumptionToken")]);
    assert_eq!(bench.publish().resources, 45);
    let requests = bench.requests();
    assert!(requests.iter().all(|request| !request.contains("&from=")), "{requests:?}");
    assert_eq!(requests.iter().filter(|request| request.contains("metadataPrefix=")).count(), 2);
}

#[test]
fn a_repository_that_takes_no_token_back_is_read_by_datestamps_as_long_as_they_grow() {
    let bench = Bench::new(FakeRepository::with_records(45));
    bench.fake.fail("resumptionToken", std::iter::repeat_n(Error("badResumptionToken"), 50));
    assert_eq!(bench.publish().resources, 45);

    let bench = Bench::new(FakeRepository::with_records(45));
    bench.fake.edit(|layout| {
        layout.records.iter_mut().for_each(|record| record.datestamp = "2026-01-01T00:00:00Z".to_owned())
    });
    bench.fake.fail("resumptionToken", std::iter::repeat_n(Error("badResumptionToken"), 50));
    let (first, _) = bench.try_publish();
    let error = instep_source_error(first.unwrap_err());
    assert!(error.contains("none of its own resumption tokens"), "{error}");
}

#[test]
fn pages_pauses_and_closed_connections_are_waited_out() {
    let bench = Bench::new(FakeRepository::with_records(25));
    let page = "<!DOCTYPE html><html><body>Down for maintenance</body></html>";
    bench.fake.fail(
        "verb=ListRecords&metadataPrefix",
        [Body(page.to_owned()), Status(503, "Retry-After: 1"), Close],
    );
    bench.fake.fail("0!10!", [EndAfter("000014</identifier>".to_owned())]);
    assert_eq!(bench.publish().resources, 25);
}

#[test]
fn a_site_that_is_no_repository_is_called_so_and_what_was_published_stays() {
    let bench = Bench::new(FakeRepository::with_records(5));
    bench.publish();
    let page = Body("<html>We have moved</html>".to_owned());
    bench.fake.fail("verb=Identify", std::iter::repeat_n(page.clone(), 9));
    let report = bench.publish_with_problems(&["web page, not OAI-PMH", "stay published"]);
    assert_eq!((report.resources, report.skipped), (5, 1));

    let first = Bench::new(FakeRepository::with_records(5));
    first.fake.fail("verb=Identify", std::iter::repeat_n(page, 9));
    let error = instep_source_error(first.try_publish().0.unwrap_err());
    assert!(error.contains("web page, not OAI-PMH"), "{error}");
}

#[test]
fn a_damaged_record_is_named_and_costs_no_other_and_deletes_nothing() {
    let bench = Bench::new(FakeRepository::with_records(25));
    let damage = || Replace("Title 7<".to_owned(), "<b>Title 7<".to_owned());
    bench.fake.fail("verb=ListRecords&metadataPrefix", [damage()]);
    let report = bench.publish_with_problems(&["oai:fake:000007", "/oai?verb=ListRecords"]);
    assert_eq!((report.resources, report.skipped), (24, 1));
    // Another set of records is a list of everything: what is damaged in it is not gone.
    let mut other = bench;
    other.arguments = "metadataPrefix=oai_dc&from=2000-01-01".to_owned();
    other
        .fake
        .fail("verb=ListRecords&metadataPrefix", [Replace("Title 8<".to_owned(), "<b>Title 8<".to_owned())]);
    let report = other.publish_with_problems(&["oai:fake:000008"]);
    assert_eq!((report.resources, report.deleted, report.created), (25, 0, 1));
}

#[test]
fn forbidden_characters_are_replaced_and_the_record_is_published() {
    let bench = Bench::new(FakeRepository::with_records(12));
    bench.fake.edit(|layout| {
        let metadata = &mut layout.record("oai:fake:000007").metadata;
        *metadata = metadata.replace("Title", "A & B \u{b} &nbsp;");
    });
    let report = bench.publish_with_problems(&["oai:fake:000007", "were replaced"]);
    assert_eq!((report.resources, report.skipped), (12, 0));
    let text = std::fs::read_to_string(bench.folder().join(record_path(7))).unwrap();
    assert!(text.contains("A &amp; B \u{fffd} &amp;nbsp; 7"), "{text}");
}

#[test]
fn b34_an_answer_with_neither_a_list_nor_an_error_is_no_empty_list() {
    let bench = Bench::new(FakeRepository::with_records(5));
    let text = "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\"><responseDate>2026-02-01T00:00:00Z\
                </responseDate><request verb=\"ListRecords\">http://h/oai</request></OAI-PMH>";
    bench.fake.fail("verb=ListRecords", [Body(text.to_owned())]);
    let error = instep_source_error(bench.try_publish().0.unwrap_err());
    assert!(error.contains("neither a list nor an error"), "{error}");
    bench.fake.heal();
    assert_eq!(bench.publish().resources, 5);
}

#[test]
fn o376_a_repository_that_does_not_answer_as_one_counts_as_out_of_reach_and_one_that_refuses_does_not() {
    use instep_source::ErrorKind;
    let nothing = "<OAI-PMH></OAI-PMH>".to_owned();
    for (request, fault, is_out_of_reach) in [
        ("verb=ListRecords", Body(nothing.clone()), true),
        ("verb=Identify", Body(nothing), true),
        ("verb=ListRecords", Error("badArgument"), false),
        ("verb=ListRecords", Error(""), false),
    ] {
        let bench = Bench::new(FakeRepository::with_records(5));
        bench.fake.fail(request, [fault]);
        let error = bench.try_publish().0.unwrap_err();
        assert_eq!(error.kind() == ErrorKind::Unreachable, is_out_of_reach, "{error}");
        assert!(!error.to_string().contains("answers :"), "{error}");
    }
}

#[test]
fn empty_parts_with_a_token_are_passed_over() {
    let bench = Bench::new(FakeRepository::with_records(25));
    let empty = |number: u8| {
        let token = format!("0!10!metadataPrefix=oai_dc&amp;n={number}");
        Body(format!(
            "<OAI-PMH><ListRecords><resumptionToken>{token}</resumptionToken></ListRecords></OAI-PMH>"
        ))
    };
    bench.fake.fail("0!10!", (0..5).map(empty));
    assert_eq!(bench.publish().resources, 25);
}

#[test]
fn a_list_that_comes_back_to_its_begin_is_ended_and_named() {
    let bench = Bench::new(FakeRepository::with_records(25));
    let back = Replace("0!20!metadataPrefix=oai_dc".to_owned(), "0!10!metadataPrefix=oai_dc".to_owned());
    bench.fake.fail("0!10!", std::iter::repeat_n(back, 50));
    let error = instep_source_error(bench.try_publish().0.unwrap_err());
    assert!(error.contains("repeats itself"), "{error}");
}

#[test]
fn of_a_record_that_is_listed_twice_the_newer_state_is_published() {
    let bench = Bench::new(FakeRepository::with_records(5));
    bench.fake.edit(|layout| {
        let old = FakeRecord::new("oai:fake:000002", "2025-12-31T00:00:00Z", "Old");
        layout.records.push(old);
        let new = FakeRecord::new("oai:fake:000003", "2026-01-03T00:00:00Z", "Newer");
        layout.records.push(new);
    });
    assert_eq!(bench.publish().resources, 5);
    let text = |number| std::fs::read_to_string(bench.folder().join(record_path(number))).unwrap();
    assert!(text(2).contains("Title 2") && text(3).contains("Newer"));
    bench.assert_files_are_there();
}

#[test]
fn seconds_that_are_promised_and_refused_are_given_up_for_days() {
    let bench = Bench::new(FakeRepository::with_records(5));
    bench.publish();
    bench.requests();
    bench.fake.fail("T23:50:00Z", [Error("badArgument")]);
    assert!(bench.publish().is_nothing_new());
    let requests = bench.requests();
    assert!(requests.last().unwrap().ends_with("&from=2026-01-31"), "{requests:?}");
    // A repository that knows only days is asked for days at once.
    bench.fake.edit(|layout| layout.granularity = "YYYY-MM-DD".to_owned());
    assert!(bench.publish().is_nothing_new());
    assert_eq!(bench.requests().len(), 2);
}

#[test]
fn records_without_identifier_or_metadata_are_named_and_left_out() {
    let bench = Bench::new(FakeRepository::with_records(5));
    bench.fake.edit(|layout| {
        layout.record("oai:fake:000001").metadata = String::new();
        layout.record("oai:fake:000002").identifier = String::new();
    });
    let report =
        bench.publish_with_problems(&["oai:fake:000001 in http", "has no metadata", "has no identifier"]);
    assert_eq!((report.resources, report.skipped), (3, 2));
}

#[test]
fn a_format_that_the_repository_does_not_have_is_refused_with_its_words() {
    let mut bench = Bench::new(FakeRepository::with_records(5));
    bench.arguments = "metadataPrefix=marc21".to_owned();
    let error = instep_source_error(bench.try_publish().0.unwrap_err());
    assert!(error.contains("cannotDisseminateFormat"), "{error}");
}

#[test]
fn o362_a_format_that_is_missing_is_refused_with_the_names_of_those_that_are_there() {
    let mut bench = Bench::new(FakeRepository::with_records(5));
    bench.arguments = "metadataPrefix=oai_dc,marc21".to_owned();
    let error = instep_source_error(bench.try_publish().0.unwrap_err());
    assert!(
        error.contains("metadataPrefix=marc21") && error.contains("(the repository has oai_dc)"),
        "{error}"
    );
}

#[test]
fn a_repository_without_any_record_is_an_empty_source() {
    let bench = Bench::new(FakeRepository::with_records(0));
    assert_eq!(bench.publish().resources, 0);
}

#[test]
fn a_record_that_goes_and_comes_back_in_one_list_is_held_as_it_came_last() {
    let bench = Bench::new(FakeRepository::with_records(5));
    bench.publish();
    bench.fake.edit(|layout| {
        let mut gone = FakeRecord::new("oai:fake:000002", "2026-02-02T00:00:00Z", "");
        gone.is_deleted = true;
        layout.records.push(gone);
        layout.records.push(FakeRecord::new("oai:fake:000002", "2026-02-03T00:00:00Z", "Back"));
    });
    assert_eq!(bench.publish().updated, 1);
    bench.assert_files_are_there();
}

#[test]
fn o682_a_list_that_cannot_be_read_holds_up_neither_another_format_nor_full_texts() {
    let fake = FakeRepository::with_records(3);
    fake.edit(|layout| layout.formats.push("mods".to_owned()));
    let mut bench = Bench::new(fake);
    bench.arguments = "metadataPrefix=oai_dc,mods".to_owned();
    bench.options.full_texts = true;
    assert_eq!(bench.publish().resources, 6);
    let file = bench.fake.file_url("bitstream/1/paper.pdf");
    bench.fake.edit(|layout| {
        layout.files.push(("bitstream/1/paper.pdf".into(), "application/pdf".into(), "%PDF".into()));
        let mut record = FakeRecord::new("oai:fake:new", "2026-02-02T00:00:00Z", "New");
        record.metadata = format!("<dc><identifier>{file}</identifier></dc>");
        layout.records.push(record);
    });
    let no_list = "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\"></OAI-PMH>".to_owned();
    bench.fake.fail("metadataPrefix=oai_dc", [Body(no_list)]);
    let report = bench.publish_with_problems(&["neither a list nor an error"]);
    assert_eq!((report.created, report.skipped), (2, 1));
    let names = bench.names();
    assert!(names.contains("records/mods/oai:fake:new.xml"), "{names:?}");
    assert!(names.contains("files/oai:fake:new/paper.pdf"), "{names:?}");
    // The next harvest continues where the list failed.
    let report = bench.publish();
    assert_eq!((report.created, report.resources), (1, 9));
}
