//! Lists that lack records: what a harvest left out, or a repository never sent, must not pass for complete.

use instep_testkit::{FakeRepository, RepositoryFault::*};

use crate::{Bench, record_path};

#[test]
fn o83_a_record_that_was_left_out_is_requested_again_until_it_can_be_read_or_is_gone() {
    let bench = Bench::new(FakeRepository::with_records(12));
    let damage = |number: u8| Replace(format!("Title {number}<"), format!("<b>Title {number}<"));
    bench.fake.edit(|layout| layout.record("oai:fake:000009").metadata = String::new());
    bench.fake.fail("verb=ListRecords&metadataPrefix", [damage(7)]);
    let report = bench.publish_with_problems(&["oai:fake:000007", "oai:fake:000009"]);
    assert_eq!((report.resources, report.skipped), (10, 2));

    // The list of the next harvest has none of the two: without this, it would count as complete.
    bench.fake.fail("verb=GetRecord&identifier=oai:fake:000007", [damage(7)]);
    bench.requests();
    let report = bench.publish_with_problems(&["oai:fake:000007 in http", "has no metadata"]);
    assert_eq!((report.resources, report.skipped), (10, 2));
    let asked = bench.requests().iter().filter(|request| request.contains("verb=GetRecord")).count();
    assert_eq!(asked, 2);

    // Repaired without a new datestamp, and deleted.
    bench.fake.edit(|layout| layout.records.retain(|record| record.identifier != "oai:fake:000009"));
    let report = bench.publish();
    assert_eq!((report.resources, report.created, report.skipped), (11, 1, 0));
    assert!(std::fs::read_to_string(bench.folder().join(record_path(7))).unwrap().contains("Title 7"));
    bench.requests();
    assert!(bench.publish().is_nothing_new());
    assert!(
        bench.requests().iter().all(|request| !request.contains("GetRecord")),
        "nothing is left out any more"
    );
    bench.assert_files_are_there();
}

#[test]
fn o83_a_damaged_record_at_the_end_of_a_list_without_a_token_does_not_hold_up_the_harvest() {
    let bench = Bench::new(FakeRepository::with_records(8));
    bench.fake.fail(
        "verb=ListRecords",
        [Body(
            "<OAI-PMH><responseDate>2026-02-01T00:00:00Z</responseDate><ListRecords><record><header>\
                 <identifier>a</identifier><datestamp>2026-01-01T00:00:00Z</datestamp></header><metadata><x/>\
                 </metadata></record><record><header><identifier>b</identifier></header><metadata><x><y></x>\
                 </metadata></record></ListRecords></OAI-PMH>"
                .to_owned(),
        )],
    );
    let report = bench.publish_with_problems(&["b in http"]);
    assert_eq!((report.resources, report.skipped), (1, 1));
}

#[test]
fn o83_many_records_that_stay_damaged_cost_a_bounded_number_of_requests_and_each_gets_its_turn() {
    let bench = Bench::new(FakeRepository::with_records(150));
    bench.fake.edit(|layout| layout.records.iter_mut().for_each(|record| record.metadata = String::new()));
    assert_eq!(bench.publish_with_problems(&["has no metadata"]).skipped, 150);
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..2 {
        bench.requests();
        let report = bench.publish_with_problems(&["50 more records of oai_dc are left out"]);
        assert_eq!(report.skipped, 101);
        asked.extend(bench.requests().into_iter().filter(|request| request.contains("GetRecord")));
    }
    assert_eq!(asked.len(), 150);
}

#[test]
fn o84_a_list_that_sends_the_same_records_with_new_tokens_is_ended_and_named() {
    let bench = Bench::new(FakeRepository::with_records(25));
    let again = |number: u8| {
        Body(format!(
            "<OAI-PMH><ListRecords><record><header><identifier>oai:fake:000001</identifier><datestamp>2026-01-01\
             </datestamp></header><metadata><x/></metadata></record><resumptionToken>0!10!{number}\
             </resumptionToken></ListRecords></OAI-PMH>"
        ))
    };
    bench.fake.fail("0!10!", (0..200).map(again));
    let error = format!("{:?}", bench.try_publish().0.unwrap_err());
    assert!(error.contains("repeats itself"), "{error}");
    assert!(bench.requests().len() < 40);
}

#[test]
fn o85_a_list_that_ends_before_its_stated_size_is_named_and_deletes_nothing() {
    let mut bench = Bench::new(FakeRepository::with_records(25));
    bench.publish();
    // Another set of records is a list of everything. Its second part lost its token.
    bench.arguments = "metadataPrefix=oai_dc&from=2000-01-01".to_owned();
    let size = "<resumptionToken completeListSize=\"25\" cursor=\"0\"".to_owned();
    bench.fake.fail("verb=ListRecords&metadataPrefix", [Replace("<resumptionToken".to_owned(), size)]);
    bench.fake.fail("0!10!", [Replace("resumptionToken".to_owned(), "lost".to_owned())]);
    let report = bench.publish_with_problems(&["ended after 20 records, and the repository states 25"]);
    assert_eq!((report.resources, report.deleted), (25, 0));
}

#[test]
fn o85_an_error_beside_records_is_named_and_deletes_nothing() {
    let mut bench = Bench::new(FakeRepository::with_records(15));
    bench.publish();
    bench.arguments = "metadataPrefix=oai_dc&from=2000-01-01".to_owned();
    let fatal = "<error code=\"badArgument\">out of memory</error><lost".to_owned();
    bench.fake.fail("verb=ListRecords&metadataPrefix", [Replace("<resumptionToken".to_owned(), fatal)]);
    let report = bench.publish_with_problems(&["answers badArgument beside records"]);
    assert_eq!((report.resources, report.deleted, report.skipped), (15, 0, 1));
}

#[test]
fn o85_a_repository_whose_earliest_datestamp_is_the_present_hides_no_change() {
    let bench = Bench::new(FakeRepository::with_records(5));
    bench.publish();
    bench.fake.edit(|layout| {
        layout.records.push(instep_testkit::FakeRecord::new("oai:fake:new", "2026-02-01T00:00:05Z", "New"));
        layout.now = "2026-02-03T00:00:00Z".to_owned();
    });
    let present = Replace("2000-01-01T00:00:00Z".to_owned(), "2026-02-03T00:00:00Z".to_owned());
    bench.fake.fail("verb=Identify", [present]);
    assert_eq!(bench.publish().created, 1);
}

#[test]
fn o227_a_record_that_cannot_be_requested_does_not_hold_up_the_records_that_are_new() {
    let bench = Bench::new(FakeRepository::with_records(5));
    let empty = |layout: &mut instep_testkit::RepositoryLayout, number: usize| {
        layout.record(&format!("oai:fake:{number:06}")).metadata = String::new();
    };
    bench.fake.edit(|layout| (2..4).for_each(|number| empty(layout, number)));
    assert_eq!(bench.publish_with_problems(&["has no metadata"]).resources, 3);
    bench.fake.edit(|layout| {
        layout.records.push(instep_testkit::FakeRecord::new("oai:fake:new", "2026-02-01T00:00:05Z", "New"));
    });
    bench.fake.fail("verb=GetRecord", vec![Status(500, "X-None: 1"); 100]);
    bench.requests();
    let named = ["oai:fake:000002", "cannot be requested", "500", "1 more records of oai_dc are left out"];
    let report = bench.publish_with_problems(&named);
    assert_eq!((report.created, report.resources), (1, 4));
    let requests = bench.requests();
    assert!(!requests.iter().any(|request| request.contains("000003")), "one is enough: {requests:?}");
    // The other one comes first now.
    bench.fake.heal();
    let report = bench.publish_with_problems(&["oai:fake:000003", "oai:fake:000002"]);
    assert_eq!(report.resources, 4);
    let requests = bench.requests();
    let asked: Vec<_> = requests.iter().filter(|request| request.contains("GetRecord")).collect();
    assert!(asked[0].contains("000003") && asked[1].contains("000002"), "{asked:?}");
}

#[test]
fn o228_a_repository_that_lacks_most_records_deletes_none_until_that_is_allowed() {
    let mut bench = Bench::new(FakeRepository::with_records(25));
    bench.fake.edit(|layout| layout.deleted_record = "no".to_owned());
    bench.options.inventory_every = std::time::Duration::ZERO;
    bench.publish();
    let all = bench.fake.edit(|layout| std::mem::take(&mut layout.records));
    for left in [0, 3] {
        bench.fake.edit(|layout| layout.records = all[..left].to_vec());
        let lacks = format!("no longer has {} of the 25 records that are held in oai_dc", 25 - left);
        for _ in 0..2 {
            let report = bench.publish_with_problems(&[&lacks]);
            assert_eq!((report.resources, report.deleted, report.skipped), (25, 0, 1));
        }
        bench.assert_files_are_there();
    }
    // Back again: nothing was lost, and nothing has to be fetched.
    bench.fake.edit(|layout| layout.records.clone_from(&all));
    assert!(bench.publish().is_nothing_new());
    bench.assert_files_are_there();
    bench.fake.edit(|layout| layout.records.truncate(3));
    bench.options.guard.most = instep_source::MaxDeletions::Count(22);
    assert_eq!(bench.publish().deleted, 22);
    bench.assert_files_are_there();
}

#[test]
fn o787_a_repository_without_any_of_its_records_is_reported_as_such_whatever_the_limit_is() {
    let mut bench = Bench::new(FakeRepository::with_records(5));
    bench.fake.edit(|layout| layout.deleted_record = "no".to_owned());
    bench.options.inventory_every = std::time::Duration::ZERO;
    bench.options.guard.most = instep_source::MaxDeletions::Percent(100);
    bench.publish();
    bench.fake.edit(|layout| layout.records.clear());
    let report = bench.publish_with_problems(&["5 of the 5 records", "none would be left"]);
    assert_eq!((report.resources, report.deleted), (5, 0));
}

#[test]
fn o228_another_set_of_records_that_lacks_most_is_compared_until_it_is_allowed() {
    let mut bench = Bench::new(FakeRepository::with_records(25));
    bench.fake.edit(|layout| layout.record("oai:fake:000007").sets = vec!["a".to_owned()]);
    bench.publish();
    bench.arguments = "metadataPrefix=oai_dc&set=a".to_owned();
    for _ in 0..2 {
        let report = bench.publish_with_problems(&["no longer has 24 of the 25 records"]);
        assert_eq!((report.resources, report.deleted), (25, 0));
    }
    bench.options.guard.most = instep_source::MaxDeletions::Percent(100);
    assert_eq!(bench.publish().deleted, 24);
    assert!(bench.publish().is_nothing_new());
}

#[test]
fn o229_a_list_whose_end_is_past_is_harvested_again_and_again() {
    let mut bench = Bench::new(FakeRepository::with_records(5));
    bench.arguments = "metadataPrefix=oai_dc&until=2026-01-15".to_owned();
    assert_eq!(bench.publish().created, 5);
    bench.requests();
    assert!(bench.publish().is_nothing_new());
    let requests = bench.requests();
    let list = requests.iter().find(|request| request.contains("ListRecords")).unwrap();
    assert!(list.contains("from=2026-01-15&until=2026-01-15"), "{list}");
}

#[test]
fn o230_a_clock_or_a_datestamp_in_the_future_hides_no_record() {
    for (now, response_date) in [("2099-01-01T00:00:00Z", "responseDate"), ("2026-02-01T00:00:00Z", "lost")] {
        let bench = Bench::new(FakeRepository::with_records(5));
        bench.fake.edit(|layout| {
            layout.now = now.to_owned();
            layout.record("oai:fake:000002").datestamp = "2099-01-01T00:00:00Z".to_owned();
        });
        let dates = || Replace("responseDate".to_owned(), response_date.to_owned());
        bench.fake.fail("verb=List", (0..9).map(|_| dates()));
        bench.publish();
        bench.fake.edit(|layout| {
            layout.records.push(instep_testkit::FakeRecord::new(
                "oai:fake:new",
                "2098-12-01T00:00:00Z",
                "New",
            ));
        });
        assert_eq!(bench.publish().created, 1, "{now} {response_date}");
    }
}

#[test]
fn o246_a_full_text_is_stored_unpacked_and_only_if_all_of_it_came() {
    let mut bench = Bench::new(FakeRepository::with_records(1));
    let (path, text) = ("bitstream/1/paper.pdf", "%PDF-1.7 text ".repeat(9_000));
    let url = bench.fake.file_url(path);
    bench.fake.edit(|layout| {
        layout.gzip = true;
        layout.files.push((path.to_owned(), "application/pdf".to_owned(), text.clone()));
        let link = format!("</dc:title><dc:identifier>{url}</dc:identifier>");
        let record = layout.record("oai:fake:000000");
        record.metadata = record.metadata.replace("</dc:title>", &link);
    });
    bench.options.full_texts = true;
    for status in [202, 206] {
        bench.fake.fail(path, vec![Status(status, "X-None: 1"); 40]);
        let report = bench.publish_with_problems(&[&url, &status.to_string()]);
        assert_eq!(report.resources, 1, "{status}");
        bench.fake.heal();
    }
    assert_eq!(bench.publish().created, 1);
    let file = bench.folder().join("files/oai:fake:000000/paper.pdf");
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    bench.assert_files_are_there();
}

#[test]
fn o571_of_two_states_of_a_record_in_one_list_the_newer_one_counts_also_if_it_is_a_deletion() {
    let mut bench = Bench::new(FakeRepository::with_records(15));
    bench.fake.edit(|layout| layout.deleted_record = "transient".to_owned());
    bench.publish();
    let header = |status: &str, datestamp: &str| {
        format!(
            "<header{status}><identifier>oai:fake:000003</identifier><datestamp>{datestamp}</datestamp></header>"
        )
    };
    let gone = " status=\"deleted\"";
    let list = |verb: &str, items: &str| Body(format!("<OAI-PMH><{verb}>{items}</{verb}></OAI-PMH>"));

    // An old deletion after the present state, in a list of identifiers.
    let mut headers = String::new();
    for number in 0..15 {
        let datestamp = format!("2026-01-01T00:00:{number:02}Z");
        let identifier = format!("<identifier>oai:fake:{number:06}</identifier>");
        headers += &format!("<header>{identifier}<datestamp>{datestamp}</datestamp></header>");
    }
    headers += &header(gone, "2025-01-01T00:00:00Z");
    bench.options.inventory_every = std::time::Duration::ZERO;
    bench.fake.fail("verb=ListIdentifiers", [list("ListIdentifiers", &headers)]);
    assert_eq!((bench.publish().resources, bench.entries().len()), (15, 15));

    // An old state after the deletion, in a list of records.
    bench.options.inventory_every = std::time::Duration::from_secs(3_600);
    let deleted = format!("<record>{}</record>", header(gone, "2026-02-02T00:00:00Z"));
    let old = header("", "2026-01-01T00:00:03Z");
    let records = format!("{deleted}<record>{old}<metadata><x xmlns=\"urn:x\"/></metadata></record>");
    bench.fake.fail("verb=ListRecords", [list("ListRecords", &records)]);
    let report = bench.publish();
    assert_eq!((report.resources, report.deleted), (14, 1));
}

#[test]
fn o572_a_list_that_lost_its_token_and_is_in_another_order_is_read_from_its_beginning() {
    let bench = Bench::new(FakeRepository::with_records(25));
    // The last five records are older than the others.
    bench.fake.edit(|layout| {
        for (number, record) in layout.records.iter_mut().enumerate().skip(20) {
            record.datestamp = format!("2025-01-01T00:00:{number:02}Z");
        }
    });
    let size = "<resumptionToken completeListSize=\"25\" cursor=\"0\"".to_owned();
    bench.fake.fail("verb=ListRecords&metadataPrefix", [Replace("<resumptionToken".to_owned(), size)]);
    bench.fake.fail("0!10!", [Error("badResumptionToken")]);
    assert_eq!(bench.publish().resources, 25);
    let whole = |request: &&String| request.contains("Records&metadata") && !request.contains("from=");
    assert_eq!(bench.requests().iter().filter(whole).count(), 2);
}
