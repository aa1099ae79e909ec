//! Versions that links lead to, in runs in which something fails.

use instep_testkit::Fault;
use resourcesync::{DateTime, Relation};

use crate::support::{Copy, keeping, link, versions};

#[test]
fn o402_links_to_versions_outlive_a_plan_that_another_one_replaces() {
    let copy = Copy::of_three();
    copy.source.serve("v/b1", "ancient");
    link(&copy, "b.txt", Relation::Memento, "v/b1", Some(DateTime::parse("2025-01-01T00:00:00Z").unwrap()));
    // The changes are read again, and planned anew, because they may explain why it is not there.
    copy.source.fail_always("a.txt", Fault::Status(404));
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.source.requests_for("changelist-000001.xml") > 1), (3, true));
    assert_eq!(versions(&copy, "b.txt"), ["ancient"], "{:?}", run.heard);
}

#[test]
fn o419_a_time_map_that_is_too_large_is_a_failed_request_and_not_an_empty_one() {
    let copy = Copy::of_three();
    copy.source.serve("map/a", "x".repeat((16 << 20) + 1));
    link(&copy, "a.txt", Relation::TimeMap, "map/a", None);
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (3, vec![]), "{:?}", run.heard);
    let is_named =
        |(_, uri, what): &(_, String, String)| uri.ends_with("map/a") && what.contains("more than");
    assert!(run.heard.problems.iter().any(is_named), "{:?}", run.heard.problems);
}
