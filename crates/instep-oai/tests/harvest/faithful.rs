//! Repositories that keep to the protocol.

use instep_testkit::{
    FakeRecord, FakeRepository,
    RepositoryFault::{Error, Replace, Status},
    RepositoryLayout,
};
use resourcesync::Relation;

use crate::{Bench, record_path};

#[test]
fn each_record_is_a_resource_and_the_second_harvest_asks_for_what_is_new() {
    let bench = Bench::new(FakeRepository::with_records(25));
    let first = bench.publish();
    assert_eq!((first.resources, first.skipped), (25, 0));
    let requests = bench.requests();
    assert_eq!(requests.len(), 4, "{requests:?}");
    assert_eq!(requests[1], "verb=ListRecords&metadataPrefix=oai_dc");
    assert!(bench.names().contains(&record_path(24)));
    bench.assert_files_are_there();

    let second = bench.publish();
    assert!(second.is_nothing_new(), "{second:?}");
    // Ten minutes before the clock of the repository, at the first response; also after a list without records.
    let from = "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-31T23%3A50%3A00Z";
    assert_eq!(bench.requests()[1], from);
    bench.publish();
    assert_eq!(bench.requests()[1], from);
}

#[test]
fn changes_and_deletions_of_records_are_published() {
    let bench = Bench::new(FakeRepository::with_records(12));
    bench.publish();
    bench.fake.edit(|layout| {
        layout.record("oai:fake:000003").is_deleted = true;
        layout.record("oai:fake:000003").datestamp = "2026-02-02T00:00:00Z".to_owned();
        *layout.record("oai:fake:000004") =
            FakeRecord::new("oai:fake:000004", "2026-02-02T00:00:00Z", "Another title");
        layout.records.push(FakeRecord::new("oai:fake:new", "2026-02-02T00:00:00Z", "New"));
    });
    let report = bench.publish();
    assert_eq!((report.created, report.updated, report.deleted), (1, 1, 1));
    let names = bench.names();
    assert!(!names.contains(&record_path(3)) && names.contains("records/oai_dc/oai:fake:new.xml"));
    assert!(!bench.folder().join(record_path(3)).exists());
    bench.assert_files_are_there();
}

#[test]
fn a_repository_that_keeps_no_deletions_is_compared_and_what_it_lost_is_deleted() {
    for policy in ["no", "transient", "whatever"] {
        let mut bench = Bench::new(FakeRepository::with_records(12));
        bench.fake.edit(|layout| layout.deleted_record = policy.to_owned());
        bench.publish();
        bench.fake.edit(|layout| drop(layout.records.remove(7)));
        assert!(bench.publish().is_nothing_new(), "{policy}: not yet");
        bench.options.inventory_every = std::time::Duration::ZERO;
        let report = bench.publish();
        assert_eq!((report.deleted, report.resources), (1, 11), "{policy}");
    }
}

#[test]
fn o364_a_record_that_leaves_the_harvested_set_is_deleted_also_if_deletions_are_listed_for_ever() {
    let mut bench = Bench::new(FakeRepository::with_records(12));
    bench.arguments = "metadataPrefix=oai_dc&set=letters".to_owned();
    let all = |layout: &mut RepositoryLayout| {
        layout.records.iter_mut().for_each(|record| record.sets = vec!["letters".to_owned()]);
    };
    bench.fake.edit(all);
    assert_eq!(bench.publish().resources, 12);
    bench.fake.edit(|layout| layout.record("oai:fake:000003").sets.clear());
    assert!(bench.publish().is_nothing_new(), "not yet");
    bench.options.inventory_every = std::time::Duration::ZERO;
    let report = bench.publish();
    assert_eq!((report.deleted, report.resources), (1, 11));
}

#[test]
fn a_comparison_with_a_damaged_list_deletes_nothing() {
    let mut bench = Bench::new(FakeRepository::with_records(12));
    bench.fake.edit(|layout| layout.deleted_record = "no".to_owned());
    bench.publish();
    bench.options.inventory_every = std::time::Duration::ZERO;
    let damage = Replace("oai:fake:000007<".to_owned(), "oai:fake:000007 & <b><".to_owned());
    bench.fake.fail("verb=ListIdentifiers&metadataPrefix", [damage]);
    let (report, _) = bench.try_publish();
    assert_eq!(report.unwrap().resources, 12);
    bench.fake.fail("0!10!", [Error("noRecordsMatch")]);
    let (report, _) = bench.try_publish();
    assert_eq!(report.unwrap().resources, 12);
}

#[test]
fn a_record_with_an_old_datestamp_is_found_by_the_comparison() {
    let mut bench = Bench::new(FakeRepository::with_records(12));
    bench.fake.edit(|layout| layout.deleted_record = "no".to_owned());
    bench.publish();
    bench
        .fake
        .edit(|layout| layout.records.insert(0, FakeRecord::new("oai:late", "2001-01-01T00:00:00Z", "Late")));
    assert!(bench.publish().is_nothing_new());
    bench.options.inventory_every = std::time::Duration::ZERO;
    assert_eq!(bench.publish().created, 1);
}

#[test]
fn o688_a_record_that_changes_during_a_comparison_comes_with_the_next_list_and_not_with_all_others() {
    let mut bench = Bench::new(FakeRepository::with_records(12));
    bench.fake.edit(|layout| layout.deleted_record = "no".to_owned());
    bench.publish();
    bench.options.inventory_every = std::time::Duration::ZERO;
    let changed = Replace("2026-01-01T00:00:03Z".to_owned(), "2026-02-01T00:00:30Z".to_owned());
    bench.fake.fail("verb=ListIdentifiers&metadataPrefix", [changed]);
    bench.requests();
    assert!(bench.publish().is_nothing_new());
    let requests = bench.requests();
    assert!(requests.iter().any(|request| request.starts_with("verb=ListIdentifiers")), "{requests:?}");
    assert!(!requests.contains(&"verb=ListRecords&metadataPrefix=oai_dc".to_owned()), "{requests:?}");
}

#[test]
fn formats_about_and_sets_become_links_between_resources() {
    let layout = RepositoryLayout {
        formats: vec!["oai_dc".to_owned(), "mods".to_owned()],
        records: vec![FakeRecord {
            sets: vec!["papers:physics".to_owned()],
            about: "<provenance xmlns=\"urn:p\"/>".to_owned(),
            ..FakeRecord::new("oai:x:1/2", "2026-01-01T00:00:00Z", "One")
        }],
        ..RepositoryLayout::default()
    };
    let mut bench = Bench::new(FakeRepository::start(layout));
    bench.arguments = "metadataPrefix=oai_dc,mods&set=papers%3Aphysics".to_owned();
    assert_eq!(bench.publish().resources, 4);
    let entries = bench.entries();
    let links = |path: &str| -> Vec<(String, String)> {
        let entry = entries.iter().find(|entry| entry.loc.as_str().ends_with(path)).unwrap();
        let links =
            entry.links.iter().map(|link| (link.rel.as_str().to_owned(), link.href.as_str().to_owned()));
        links.collect()
    };
    let record = links("records/oai_dc/oai:x:1=2F2.xml");
    let target = |rel: &Relation| {
        record
            .iter()
            .find(|(found, _)| found == rel.as_str())
            .map(|(_, href)| href.as_str())
            .unwrap_or_default()
    };
    let via = target(&Relation::Via);
    assert!(via.ends_with("/oai?verb=GetRecord&identifier=oai%3Ax%3A1%2F2&metadataPrefix=oai_dc"), "{via}");
    assert!(target(&Relation::Collection).ends_with("&set=papers%3Aphysics"));
    assert_eq!(target(&Relation::Alternate), "http://example.org/records/mods/oai:x:1=2F2.xml");
    assert_eq!(target(&Relation::DescribedBy), "http://example.org/about/oai_dc/oai:x:1=2F2.xml");
    let about = links("about/oai_dc/oai:x:1=2F2.xml");
    assert!(
        about
            .iter()
            .any(|(rel, href)| rel == "describes" && href.ends_with("/records/oai_dc/oai:x:1=2F2.xml"))
    );

    // A format that is not wanted any more goes, and the other one stays.
    bench.arguments = "metadataPrefix=oai_dc&set=papers%3Aphysics".to_owned();
    assert_eq!(bench.publish().deleted, 2);
    assert_eq!(bench.names().len(), 2);
}

#[test]
fn o950_the_day_of_a_record_is_not_written_as_a_time() {
    let modified = |datestamp: &str| {
        let records = vec![FakeRecord::new("oai:x:1", datestamp, "One")];
        let bench =
            Bench::new(FakeRepository::start(RepositoryLayout { records, ..RepositoryLayout::default() }));
        assert_eq!(bench.publish().resources, 1);
        let entries = bench.entries();
        let via = entries[0].links.iter().find(|link| link.rel == Relation::Via).unwrap();
        via.modified.map(|time| time.to_string())
    };
    assert_eq!(modified("2026-01-01T10:00:00Z").as_deref(), Some("2026-01-01T10:00:00Z"));
    assert_eq!(modified("2026-01-01"), None);
}

#[test]
fn full_texts_are_fetched_and_linked_with_their_record() {
    let fake = FakeRepository::with_records(3);
    let file = fake.file_url("bitstream/1/paper.pdf");
    let page = fake.file_url("bitstream/2/page.pdf");
    fake.edit(|layout| {
        layout.files.push(("bitstream/1/paper.pdf".into(), "application/pdf".into(), "%PDF".into()));
        layout.files.push(("bitstream/2/page.pdf".into(), "text/html".into(), "<html>".into()));
        let named = |url: &str| format!("<dc><identifier>{url}</identifier></dc>");
        layout.record("oai:fake:000001").metadata = named(&file);
        layout.record("oai:fake:000002").metadata = named(&page);
    });
    let mut bench = Bench::new(fake);
    bench.options.full_texts = true;
    let report = bench.publish_with_problems(&["page.pdf", "is a web page", "oai:fake:000002"]);
    assert_eq!((report.resources, report.skipped), (4, 1));
    bench.assert_files_are_there();
    let entries = bench.entries();
    let text = entries.iter().find(|entry| entry.loc.as_str().ends_with("paper.pdf")).unwrap();
    assert_eq!(text.loc.as_str(), "http://example.org/files/oai:fake:000001/paper.pdf");
    let described = text.links.iter().find(|link| link.rel == Relation::DescribedBy).unwrap();
    assert!(described.href.as_str().ends_with(&record_path(1)));
    let via = text.links.iter().find(|link| link.rel == Relation::Via).unwrap();
    assert_eq!(via.href.as_str(), file);
    let record = entries.iter().find(|entry| entry.loc.as_str().ends_with(&record_path(1))).unwrap();
    assert!(record.links.iter().any(|link| link.rel == Relation::Describes && link.href == text.loc));

    // A file that is there is not asked for again, and goes with its record.
    bench.requests();
    bench.fake.edit(|layout| {
        layout.record("oai:fake:000001").is_deleted = true;
        layout.record("oai:fake:000001").datestamp = "2026-02-02T00:00:00Z".to_owned();
    });
    assert_eq!(bench.publish().deleted, 2);
    assert!(bench.requests().iter().all(|request| !request.contains("bitstream")));
    assert!(!bench.folder().join("files/oai:fake:000001/paper.pdf").exists());
}

#[test]
fn o442_a_full_text_that_two_formats_name_stays_as_long_as_one_of_them_does() {
    let fake = FakeRepository::with_records(3);
    let file = fake.file_url("bitstream/1/paper.pdf");
    fake.edit(|layout| {
        layout.formats = vec!["oai_dc".to_owned(), "mods".to_owned()];
        layout.files.push(("bitstream/1/paper.pdf".into(), "application/pdf".into(), "%PDF".into()));
        layout.record("oai:fake:000001").metadata = format!("<dc><identifier>{file}</identifier></dc>");
    });
    let mut bench = Bench::new(fake);
    bench.options.full_texts = true;
    let text = "files/oai:fake:000001/paper.pdf";
    for (formats, names) in [("oai_dc,mods", 7), ("mods", 4), ("mods,oai_dc", 7), ("oai_dc", 4)] {
        bench.arguments = format!("metadataPrefix={formats}");
        bench.publish();
        let published = bench.names();
        assert!(published.contains(text) && published.len() == names, "{formats}: {published:?}");
        bench.assert_files_are_there();
    }
    bench.fake.edit(|layout| {
        layout.record("oai:fake:000001").is_deleted = true;
        layout.record("oai:fake:000001").datestamp = "2026-02-02T00:00:00Z".to_owned();
    });
    assert_eq!(bench.publish().deleted, 2);
}

#[test]
fn o443_full_texts_that_are_wanted_later_come_for_all_records() {
    let fake = FakeRepository::with_records(3);
    let file = fake.file_url("bitstream/1/paper.pdf");
    fake.edit(|layout| {
        layout.files.push(("bitstream/1/paper.pdf".into(), "application/pdf".into(), "%PDF".into()));
        layout.record("oai:fake:000001").metadata = format!("<dc><identifier>{file}</identifier></dc>");
    });
    let mut bench = Bench::new(fake);
    assert_eq!(bench.publish().resources, 3);
    bench.options.full_texts = true;
    assert_eq!(bench.publish().created, 1);
    assert!(bench.names().contains("files/oai:fake:000001/paper.pdf"));
    bench.requests();
    assert!(bench.publish().is_nothing_new());
    assert!(bench.requests().iter().all(|request| !request.contains("bitstream")), "once");
}

/// Returns a published repository whose first record names a full text.
fn published_paper() -> Bench {
    let fake = FakeRepository::with_records(3);
    let file = fake.file_url("bitstream/1/paper.pdf");
    fake.edit(|layout| {
        layout.files.push(("bitstream/1/paper.pdf".into(), "application/pdf".into(), "%PDF".into()));
        layout.record("oai:fake:000001").metadata =
            format!("<dc><title>One</title><identifier>{file}</identifier></dc>");
    });
    let mut bench = Bench::new(fake);
    bench.options.full_texts = true;
    bench.publish();
    bench
}

/// Changes the record that names the full text, so that it is requested again.
fn change_record_of_paper(layout: &mut RepositoryLayout) {
    let record = layout.record("oai:fake:000001");
    record.metadata = record.metadata.replace("One", "Two");
    record.datestamp = "2026-02-02T00:00:00Z".to_owned();
}

#[test]
fn o601_a_web_page_in_the_place_of_a_full_text_that_is_held_removes_nothing() {
    let bench = published_paper();
    bench.fake.edit(|layout| {
        change_record_of_paper(layout);
        layout.files[0].1 = "text/html".to_owned();
        layout.files[0].2 = "<html>Down for maintenance".to_owned();
    });
    let report = bench.publish_with_problems(&["paper.pdf", "is requested again", "a web page"]);
    assert_eq!((report.resources, report.deleted, report.skipped), (4, 0, 1));
    bench.assert_files_are_there();
    bench.fake.edit(|layout| {
        layout.files[0].1 = "application/pdf".to_owned();
        layout.files[0].2 = "%PDF of two".to_owned();
    });
    assert_eq!(bench.publish().updated, 1);
    bench.assert_files_are_there();
}

#[test]
fn o686_a_full_text_that_is_held_and_not_found_is_removed_only_if_it_is_said_to_be_gone() {
    let bench = published_paper();
    bench.fake.edit(|layout| {
        change_record_of_paper(layout);
        layout.files.clear();
    });
    let report = bench.publish_with_problems(&["paper.pdf", "is requested again", "404"]);
    assert_eq!((report.resources, report.deleted, report.skipped), (4, 0, 1));
    bench.assert_files_are_there();
    bench.fake.fail("bitstream", [Status(410, "X-None: 1")]);
    let report = bench.publish_with_problems(&["paper.pdf", "is not there: 410"]);
    assert_eq!((report.resources, report.deleted), (3, 1));
}

#[test]
fn compressed_responses_are_read() {
    let bench = Bench::new(FakeRepository::with_records(12));
    bench.fake.edit(|layout| layout.gzip = true);
    assert_eq!(bench.publish().resources, 12);
}

#[test]
fn limits_of_the_operator_are_asked_for_in_each_harvest() {
    let mut bench = Bench::new(FakeRepository::with_records(12));
    bench.arguments = "from=2026-01-01T00:00:03Z&until=2026-01-01T00:00:07Z".to_owned();
    assert_eq!(bench.publish().resources, 5);
    bench.requests();
    bench.publish();
    assert!(bench.requests()[1].ends_with("&until=2026-01-01T00%3A00%3A07Z"));
}
