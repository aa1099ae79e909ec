//! Resources whose metadata records cannot be fetched (B24).

use instep_destination::pending_retries;
use instep_testkit::Fault;
use resourcesync::{Link, Relation, Uri};

use crate::support::{Copy, many};

#[test]
fn b24_many_resources_whose_records_cannot_be_had_are_each_pending_with_the_reason() {
    const COUNT: usize = 1_100;
    let copy = Copy::of(instep_testkit::FakeSource::start().with_resources(many(COUNT)));
    copy.source.serve("record.json", "{\"year\": 2021}");
    let record = Uri::parse(&copy.source.url("record.json")).unwrap();
    for (path, _) in many(COUNT) {
        let record = record.clone();
        copy.source
            .misstate(&path, move |entry| entry.links.push(Link::new(Relation::DescribedBy, record.clone())));
    }
    copy.source.fail_always("record.json", Fault::Status(404));
    let choosing = |copy: &Copy| {
        copy.sync_with(|options| options.selection.where_metadata = Some("/year > 2000".to_owned()))
    };
    let run = choosing(&copy);
    assert_eq!((run.exit_code(), run.report().owed), (3, COUNT as u64), "{:?}", run.report());
    let pending = pending_retries(&(*copy.dir()).into(), "", 10).unwrap();
    assert!(pending.iter().all(|retry| retry.reason.contains("404")), "{pending:?}");
    copy.source.heal();
    let again = choosing(&copy);
    assert_eq!((again.exit_code(), again.report().created), (0, COUNT as u64), "{:?}", again.report());
}
