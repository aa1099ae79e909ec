//! Caches between a Source and a copy, which answer with former states.

use instep_testkit::{Fault, Page};

use crate::support::Copy;

/// Returns a page that a cache got from the Source in 2015, and answers with until 2030.
fn cached(body: &str) -> Page {
    Page::from(body).with_header("Date", "Thu, 01 Jan 2015 00:00:00 GMT").with_header("Age", "500000000")
}

#[test]
fn o731_a_change_for_which_a_cache_answers_with_the_state_before_it_is_pending() {
    let copy = Copy::laid_out(|layout| layout.algorithms = Vec::new());
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "new");
    copy.source.serve("a.txt", cached("one"));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.serve("a.txt", "new");
    let run = copy.sync();
    assert_eq!((run.exit_code(), copy.read("a.txt").as_deref()), (0, Some("new")), "{:?}", run.heard);
}

#[test]
fn o731_a_former_state_from_a_cache_is_taken_if_nothing_is_held() {
    let copy = Copy::laid_out(|layout| layout.algorithms = Vec::new());
    copy.source.serve("a.txt", cached("old"));
    let run = copy.sync();
    assert_eq!((run.exit_code(), copy.read("a.txt").as_deref()), (0, Some("old")), "{:?}", run.heard);
}

#[test]
fn o735_a_closed_change_list_that_a_cache_has_from_before_its_end_is_missing() {
    const CLOSED: &str = "changelist-000001.xml";
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "before the cache has the list");
    let kept = String::from_utf8(copy.source.document(CLOSED).unwrap()).unwrap();
    copy.source.clock().advance(10);
    copy.source.put("b.txt", "after the cache has the list");
    copy.source.rotate();
    copy.source.put("d/c.txt", "in the next list");
    let sent = |date: &str| Fault::Header("Date", date.to_owned());
    copy.source.rewrite(CLOSED, move |_| kept.clone());
    copy.source.fail_always(CLOSED, sent("Thu, 01 Jan 2026 00:00:05 GMT"));
    copy.source.fail_always("changelist.xml", sent("Fri, 02 Jan 2026 00:00:00 GMT"));
    for _ in 0..2 {
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    }
    copy.source.heal();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}
