//! Versions that links lead to, in runs in which something fails.

use instep_testkit::{Fault, Page};
use resourcesync::{DateTime, Link, Relation, Uri};

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

#[test]
fn o1114_a_time_map_that_is_compressed_unasked_is_a_failed_request_and_not_an_empty_one() {
    let copy = Copy::of_three();
    copy.source.serve("map/a", Page::from("compressed").with_header("Content-Encoding", "gzip"));
    link(&copy, "a.txt", Relation::TimeMap, "map/a", None);
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (3, vec![]), "{:?}", run.heard);
    let is_named =
        |(_, uri, what): &(_, String, String)| uri.ends_with("map/a") && what.contains("content coding");
    assert!(run.heard.problems.iter().any(is_named), "{:?}", run.heard.problems);
}

#[test]
fn o580_a_time_map_that_fails_is_asked_again_by_the_next_run_and_a_dead_link_is_not() {
    let copy = Copy::of_three();
    copy.source.serve("v/a1", "ancient");
    let version = copy.source.url("v/a1");
    let map = format!("<{version}>; rel=\"memento\"; datetime=\"Mon, 03 Mar 2025 10:00:00 GMT\"");
    copy.source.serve("map/a", map);
    copy.source.fail("map/a", [Fault::Status(403)]);
    copy.source.fail_always("map/b", Fault::Status(404));
    link(&copy, "a.txt", Relation::TimeMap, "map/a", None);
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), versions(&copy, "a.txt").len()), (3, 0), "{:?}", run.heard);
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{:?}", run.heard);
    assert_eq!(versions(&copy, "a.txt"), ["ancient"]);

    link(&copy, "b.txt", Relation::TimeMap, "map/b", None);
    copy.source.put("b.txt", "newer");
    assert_eq!((keeping(&copy).exit_code(), keeping(&copy).exit_code()), (3, 0));
    assert_eq!(copy.source.requests_for("map/b"), 1);
}

#[test]
fn o581_the_file_of_a_resource_is_not_adopted_for_a_version_of_the_same_bytes() {
    let copy = Copy::of_three();
    std::fs::create_dir_all(copy.dir()).unwrap();
    std::fs::write(copy.dir().join("a.txt"), "one").unwrap();
    copy.source.serve("v/a1", "one");
    let target = Uri::parse(&copy.source.url("v/a1")).unwrap();
    copy.source.misstate("a.txt", move |entry| {
        let mut link = Link::new(Relation::Memento, target.clone());
        link.modified = Some(DateTime::parse("2025-01-01T00:00:00Z").unwrap());
        link.hash = entry.metadata.hash.clone();
        entry.links.push(link);
    });
    let run = copy.sync_with(|options| (options.adopt, options.all_versions) = (true, true));
    assert_eq!((run.exit_code(), versions(&copy, "a.txt")), (0, vec!["one".into()]), "{:?}", run.heard);
}
