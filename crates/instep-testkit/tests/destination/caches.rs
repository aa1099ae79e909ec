//! Caches between a Source and a copy, which answer with former states.

use instep_testkit::{Fault, Page};

use crate::{
    sets::document,
    support::{Copy, with_one_change_list, without},
};

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

#[test]
fn o920_a_closed_change_list_that_states_its_end_is_read_although_its_server_is_behind() {
    const CLOSED: &str = "changelist-000001.xml";
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "in the closed list");
    copy.source.clock().advance(10);
    copy.source.rotate();
    copy.source.put("b.txt", "in the next list");
    // Two servers have the documents, and the clock of one is minutes behind.
    let sent = |date: &str| Fault::Header("Date", date.to_owned());
    copy.source.fail_always(CLOSED, sent("Wed, 31 Dec 2025 23:58:00 GMT"));
    copy.source.fail_always("changelist.xml", sent("Fri, 02 Jan 2026 00:00:00 GMT"));
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o921_a_former_resource_list_from_a_cache_does_not_delete_what_the_later_one_lists() {
    let copy = with_one_change_list();
    copy.source.rewrite("changelist.xml", |text| without(&text, "from"));
    let list_of = |minute: u32, has_new: bool| {
        let modified = |minute: u32| format!("<lastmod>2026-01-01T00:{minute:02}:00Z</lastmod>");
        let mut entries = vec![("a.txt", modified(minute)), ("b.txt", modified(0)), ("d/c.txt", modified(0))];
        if has_new {
            entries.push(("new.txt", modified(1)));
        }
        let entries: Vec<_> = entries.iter().map(|(path, modified)| (*path, modified.as_str())).collect();
        Page::from(document(&copy.source, "resourcelist", "", &entries))
            .with_header("Date", "Sat, 03 Jan 2026 00:00:00 GMT")
            .with_header("Last-Modified", format!("Fri, 02 Jan 2026 00:{minute:02}:00 GMT"))
    };
    let deleted_with = |list: Page| {
        copy.source.serve("resourcelist.xml", list);
        let run = copy.sync_with(|options| options.delete = true);
        assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
        run.report().deleted
    };
    assert_eq!(deleted_with(list_of(0, false)), 0);
    copy.source.put("b.txt", "changed");
    assert_eq!(deleted_with(list_of(0, false)), 0);
    copy.source.put("new.txt", "created");
    copy.source.gap();
    assert_eq!(deleted_with(list_of(2, true)), 0);
    assert_eq!(copy.read("new.txt").as_deref(), Some("created"));
    // Another server of the cache still has the list from before that.
    assert_eq!(deleted_with(list_of(0, false)), 0);
    assert_eq!(deleted_with(list_of(3, false)), 1);
}
