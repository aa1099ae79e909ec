//! Caches between a Source and a copy, which answer with former states.

use instep_testkit::Page;

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
