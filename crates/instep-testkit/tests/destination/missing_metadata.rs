//! Metadata records that many resources name, also such as cannot be fetched (B24).

use instep_destination::CopyLocation;
use instep_testkit::Fault;
use resourcesync::{Link, Relation, Uri};

use crate::support::{Copy, Run, many};

/// Returns a copy of a Source whose resources all name the same record.
fn described_by_one(count: usize) -> Copy {
    let copy = Copy::of(instep_testkit::FakeSource::start().with_resources(many(count)));
    copy.source.serve("record.json", "{\"year\": 2021}");
    let record = Uri::parse(&copy.source.url("record.json")).unwrap();
    for (path, _) in many(count) {
        let record = record.clone();
        copy.source
            .misstate(&path, move |entry| entry.links.push(Link::new(Relation::DescribedBy, record.clone())));
    }
    copy
}

fn choosing(copy: &Copy) -> Run {
    copy.sync_with(|options| options.selection.where_metadata = Some("/year > 2000".to_owned()))
}

#[test]
fn o488_a_record_that_many_resources_name_is_requested_once() {
    let copy = described_by_one(600);
    let run = choosing(&copy);
    assert_eq!((run.exit_code(), run.report().created), (0, 600), "{:?}", run.report());
    assert_eq!(copy.source.requests_for("record.json"), 1);
}

#[test]
fn b24_many_resources_whose_records_cannot_be_had_are_each_pending_with_the_reason() {
    const COUNT: usize = 1_100;
    let copy = described_by_one(COUNT);
    copy.source.fail_always("record.json", Fault::Status(404));
    let run = choosing(&copy);
    assert_eq!((run.exit_code(), run.report().owed), (3, COUNT as u64), "{:?}", run.report());
    let pending = CopyLocation::in_folder(copy.dir()).pending_retries("", 10).unwrap();
    assert!(pending.iter().all(|retry| retry.reason.contains("404")), "{pending:?}");
    copy.source.heal();
    let again = choosing(&copy);
    assert_eq!((again.exit_code(), again.report().created), (0, COUNT as u64), "{:?}", again.report());
}
