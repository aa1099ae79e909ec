//! Copies that keep every version.

use instep_destination::{Event, Monitor, Outcome, Phase, Shutdown, SyncOptions, sync};
use instep_testkit::Page;
use resourcesync::{DateTime, Digests, Link, Relation, Uri};

use crate::{
    incremental::change_with_memento,
    sets::document,
    support::{Copy, Run, keeping, link, runtime, versions},
};

#[test]
fn what_is_replaced_or_removed_is_kept() {
    let copy = Copy::of_three();
    keeping(&copy);
    copy.source.put("a.txt", "newer");
    copy.source.delete("d/c.txt");
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), run.report().versions), (0, 2), "{:?}", run.heard);
    assert_eq!(
        (versions(&copy, "a.txt"), versions(&copy, "d/c.txt")),
        (vec!["one".into()], vec!["three".into()])
    );
    copy.source.put("a.txt", "newest");
    keeping(&copy);
    assert_eq!(versions(&copy, "a.txt"), ["one", "newer"]);
    assert_eq!((copy.differences(), keeping(&copy).report().versions), (vec![], 0));
    let (audit, _) = copy.audit();
    assert_eq!(audit.unwrap().exit_code(), 0);
}

/// Ends a run when it begins to fetch, before it keeps versions.
struct UntilFetching(Shutdown);

impl Monitor for UntilFetching {
    fn event(&self, event: Event<'_>) {
        if matches!(event, Event::Phase(Phase::Fetching)) {
            self.0.request();
        }
    }
}

#[test]
fn o520_a_run_that_is_stopped_before_it_has_kept_versions_removes_none_of_their_resources() {
    let copy = Copy::of_three();
    keeping(&copy);
    copy.source.delete("d/c.txt");
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    (options.all_versions, options.delete) = (true, true);
    let monitor = UntilFetching(options.shutdown.clone());
    let report = runtime().block_on(sync(&options, &monitor)).unwrap();
    assert_eq!((report.outcome, report.deleted), (Outcome::Interrupted, 0));
    keeping(&copy);
    assert_eq!(versions(&copy, "d/c.txt"), ["three"]);
}

#[test]
fn without_the_option_nothing_is_kept() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "newer");
    copy.sync();
    assert_eq!(versions(&copy, "a.txt"), [""; 0]);
}

#[test]
fn each_state_of_a_change_dump_is_kept() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    keeping(&copy);
    copy.source.put("a.txt", "second");
    copy.source.put("a.txt", "third");
    copy.source.put("a.txt", "fourth");
    copy.source.put("gone.txt", "for a moment");
    copy.source.delete("gone.txt");
    copy.source.rotate();
    let run = keeping(&copy);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(versions(&copy, "a.txt"), ["one", "second", "third"]);
    assert_eq!(versions(&copy, "gone.txt"), ["for a moment"]);
    assert_eq!((copy.read("a.txt").as_deref(), copy.differences()), (Some("fourth"), vec![]));
}

#[test]
fn o340_states_of_one_second_are_all_kept() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    let second = DateTime::parse("2026-01-02T03:04:05Z").unwrap();
    copy.source.misstate("a.txt", move |entry| entry.lastmod = Some(second));
    keeping(&copy);
    for state in ["second", "third", "fourth", "third", "fifth"] {
        copy.source.put("a.txt", state);
    }
    copy.source.rotate();
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), run.report().versions), (0, 4), "{:?}", run.heard);
    let mut kept = versions(&copy, "a.txt");
    kept.sort();
    assert_eq!(kept, ["fourth", "one", "second", "third"]);
    assert_eq!((copy.read("a.txt").as_deref(), copy.differences()), (Some("fifth"), vec![]));
    copy.source.put("a.txt", "sixth");
    copy.source.rotate();
    assert_eq!((keeping(&copy).report().versions, versions(&copy, "a.txt").len()), (1, 5));
}

#[test]
fn a_baseline_takes_the_states_that_change_dumps_have() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    copy.source.put("a.txt", "second");
    copy.source.put("a.txt", "third");
    copy.source.rotate();
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{:?}", run.heard);
    assert_eq!(versions(&copy, "a.txt"), ["second"]);
}

#[test]
fn mementos_and_time_maps_lead_to_versions() {
    let copy = Copy::of_three();
    copy.source.serve("v/a1", "ancient");
    copy.source.serve("v/b1", "b, first");
    copy.source.serve("v/b2", "b, second");
    let map = format!(
        "<{b}>; rel=\"original\",\n<{v1}>; rel=\"first memento\"; datetime=\"Mon, 03 Mar 2025 10:00:00 GMT\",\n\
         <{v2}>; rel=\"memento\"; datetime=\"Tue, 04 Mar 2025 10:00:00 GMT\"",
        b = copy.source.url("b.txt"),
        v1 = copy.source.url("v/b1"),
        v2 = copy.source.url("v/b2")
    );
    copy.source.serve("map/b", map);
    link(&copy, "a.txt", Relation::Memento, "v/a1", Some(DateTime::parse("2025-01-01T00:00:00Z").unwrap()));
    link(&copy, "b.txt", Relation::TimeMap, "map/b", None);
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), run.report().created, run.report().versions), (0, 3, 3), "{:?}", run.heard);
    assert_eq!(versions(&copy, "a.txt"), ["ancient"]);
    assert_eq!(versions(&copy, "b.txt"), ["b, first", "b, second"]);
    copy.source.snapshot();
    copy.source.forget_requests();
    assert_eq!((keeping(&copy).exit_code(), copy.source.requests_for("v/a1")), (0, 0));
}

#[test]
fn a_time_gate_leads_to_the_time_map() {
    let copy = Copy::of_three();
    copy.source.serve("v/a1", "ancient");
    let map =
        format!("<{}>; rel=\"memento\"; datetime=\"Mon, 03 Mar 2025 10:00:00 GMT\"", copy.source.url("v/a1"));
    copy.source.serve("map/a", map);
    let page = Page::from("whatever it leads to");
    let page = page.with_header("Link", format!("<{}>; rel=\"timemap\"", copy.source.url("map/a")));
    copy.source.serve("gate/a", page);
    link(&copy, "a.txt", Relation::TimeGate, "gate/a", None);
    let run = keeping(&copy);
    assert_eq!(
        (run.exit_code(), versions(&copy, "a.txt")),
        (0, vec!["ancient".to_owned()]),
        "{:?}",
        run.heard
    );
}

#[test]
fn a_version_that_is_not_there_is_owed_and_costs_no_resource() {
    let copy = Copy::of_three();
    link(&copy, "a.txt", Relation::Memento, "v/a1", Some(DateTime::parse("2025-01-01T00:00:00Z").unwrap()));
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (3, vec![]));
    copy.source.serve("v/a1", "there again");
    assert_eq!((keeping(&copy).exit_code(), versions(&copy, "a.txt")), (0, vec!["there again".to_owned()]));
}

#[test]
fn d22_a_version_out_of_scope_is_not_asked_for() {
    let copy = Copy::of_three();
    let other = Copy::of(instep_testkit::FakeSource::start_at("127.0.0.2", instep_testkit::Layout::new()));
    let target = Uri::parse(&other.source.url("v/a1")).unwrap();
    copy.source.misstate("a.txt", move |entry| {
        let mut link = Link::new(Relation::Memento, target.clone());
        link.modified = Some(DateTime::parse("2025-01-01T00:00:00Z").unwrap());
        entry.links.push(link);
    });
    assert_eq!((keeping(&copy).exit_code(), other.source.connections()), (0, 0));
}

#[test]
fn a_memento_stands_in_where_the_resource_has_moved_on() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "as announced");
    copy.source.serve("v/a2", "as announced");
    copy.source.serve("a.txt", "moved on, and nobody was told");
    link(&copy, "a.txt", Relation::Memento, "v/a2", None);
    let run = copy.sync();
    assert_eq!(
        (run.exit_code(), copy.read("a.txt").as_deref()),
        (0, Some("as announced")),
        "{:?}",
        run.heard
    );
}

#[test]
fn the_state_of_a_moment_is_asked_from_the_time_gate() {
    let copy = Copy::of_three();
    let moment = copy.source.snapshot();
    link(&copy, "a.txt", Relation::TimeGate, "gate/a", None);
    copy.source.serve("gate/a", "one");
    copy.source.serve("a.txt", "something newer");
    let run = copy.sync_with(|options| options.as_of = Some(moment));
    assert_eq!((run.exit_code(), copy.read("a.txt").as_deref()), (0, Some("one")), "{:?}", run.heard);
    let asked = copy.source.requests().into_iter().find(|request| request.path == "gate/a").unwrap();
    assert!(asked.headers.contains_key("accept-datetime"), "{:?}", asked.headers);
}

/// Returns a Source whose only Resource List is newer than a moment. After that moment `a.txt` changed and `e.txt` was
/// created.
fn with_a_later_list() -> (Copy, DateTime) {
    let copy = Copy::of_three();
    copy.source.put("b.txt", "a second version");
    let then = copy.source.clock().now();
    copy.source.put("a.txt", "too late");
    copy.source.put("e.txt", "too late");
    link(&copy, "a.txt", Relation::TimeGate, "gate/a", None);
    copy.source.serve("gate/a", "one");
    (copy, then)
}

#[test]
fn a_moment_before_the_oldest_list_is_had_by_taking_changes_back() {
    let (copy, then) = with_a_later_list();
    copy.source.snapshot();
    let run = copy.sync_with(|options| options.as_of = Some(then));
    assert_eq!((run.exit_code(), run.report().created), (0, 3), "{:?}", run.heard);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
    assert_eq!(copy.read("b.txt").as_deref(), Some("a second version"));
    assert_eq!(copy.read("e.txt"), None);
    assert!(run.heard.notes.iter().any(|note| note.contains("reverted")), "{:?}", run.heard.notes);
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o1010_a_copy_of_now_is_brought_back_to_a_past_time() {
    let copy = Copy::of_three();
    let then = copy.source.clock().now();
    change_with_memento(&copy);
    copy.source.delete("b.txt");
    let sync = |as_of| copy.sync_with(|options| (options.delete, options.as_of) = (true, as_of));
    assert_eq!((sync(None).exit_code(), copy.differences()), (0, vec![]));
    // The server still has the resource, although it is not listed any more.
    copy.source.serve("b.txt", "two");
    for _ in 0..2 {
        let run = sync(Some(then));
        assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
        assert_eq!(copy.read("a.txt").as_deref(), Some("one"), "{:?}", run.heard);
        assert_eq!(copy.read("b.txt").as_deref(), Some("two"), "{:?}", run.heard);
        assert_eq!(copy.read("e.txt"), None, "{:?}", run.heard);
    }
    assert_eq!((sync(None).exit_code(), copy.differences()), (0, vec![]));
}

#[test]
fn o1010_a_later_state_that_is_held_is_not_taken_for_the_past_one() {
    let copy = Copy::of_three();
    let then = copy.source.clock().now();
    copy.source.put("a.txt", "too late");
    assert_eq!(copy.sync().exit_code(), 0);
    let run = copy.sync_with(|options| options.as_of = Some(then));
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert!(run.heard.problems.iter().any(|(_, uri, _)| uri.ends_with("a.txt")), "{:?}", run.heard.problems);
}

#[test]
fn o1010_a_copy_of_now_is_brought_back_by_taking_changes_back() {
    let (copy, then) = with_a_later_list();
    copy.source.snapshot();
    let sync = |as_of| copy.sync_with(|options| (options.delete, options.as_of) = (true, as_of));
    assert_eq!((sync(None).exit_code(), copy.differences()), (0, vec![]));
    let run = as_of(&copy, then);
    assert_eq!((run.exit_code(), run.report().kept), (0, 1), "{:?}", run.heard);
    assert!(copy.read("e.txt").is_some(), "nothing is deleted without being asked for");
    let run = sync(Some(then));
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
    assert_eq!(copy.read("e.txt"), None);
    assert_eq!((sync(None).exit_code(), copy.differences()), (0, vec![]));
}

/// Renews the Resource List, which then begins after a moment but before the changes since, and has these.
fn list_changes_that_came_meanwhile(copy: &Copy, then: DateTime, states_end: bool) {
    let begun = DateTime::from_unix_micros(then.unix_micros() + 500_000);
    let end = copy.source.snapshot();
    copy.source.rewrite("resourcelist.xml", move |text| {
        let completed = if states_end { format!(" completed=\"{end}\"") } else { String::new() };
        text.replace(&format!("at=\"{end}\""), &format!("at=\"{begun}\"{completed}"))
    });
}

#[test]
fn o737_changes_that_came_while_a_list_was_written_are_taken_back_too() {
    for states_end in [true, false] {
        let (copy, then) = with_a_later_list();
        list_changes_that_came_meanwhile(&copy, then, states_end);
        let run = copy.sync_with(|options| options.as_of = Some(then));
        assert_eq!(copy.read("e.txt"), None, "{:?}", run.heard);
        // Without its end, a list may have either state of what was changed since its time.
        if states_end {
            let read = copy.read("a.txt");
            assert_eq!((run.exit_code(), read.as_deref()), (0, Some("one")), "{:?}", run.heard);
        }
    }
}

#[test]
fn o737_a_resource_that_was_deleted_while_a_list_was_written_is_reported() {
    let (copy, then) = with_a_later_list();
    copy.source.delete("d/c.txt");
    list_changes_that_came_meanwhile(&copy, then, true);
    let run = copy.sync_with(|options| options.as_of = Some(then));
    assert_eq!((run.exit_code(), copy.read("d/c.txt")), (3, None), "{:?}", run.heard);
    let is_told =
        |(_, uri, what): &(_, String, String)| uri.ends_with("d/c.txt") && what.contains("TimeGate");
    assert!(run.heard.problems.iter().any(is_told), "{:?}", run.heard.problems);
}

#[test]
fn what_is_not_offered_of_a_moment_is_said_and_nothing_later_is_taken_for_it() {
    let (copy, then) = with_a_later_list();
    copy.source.put("d/c.txt", "too late, and no TimeGate");
    copy.source.snapshot();
    let run = copy.sync_with(|options| options.as_of = Some(then));
    assert_eq!((run.exit_code(), copy.read("d/c.txt")), (3, None));
    let told =
        run.heard.problems.iter().any(|(_, uri, what)| uri.ends_with("d/c.txt") && what.contains("TimeGate"));
    assert!(told, "{:?}", run.heard.problems);
    copy.source.gap();
    let run = copy.sync_with(|options| options.as_of = Some(then));
    assert_eq!(run.exit_code(), 2, "no changes reach back to that moment any more");
}

/// Returns a Source that changed `a.txt` after a moment, and whose entries of it have no digest.
fn changed_later_without_digest() -> (Copy, DateTime) {
    let copy = Copy::of_three();
    copy.source.misstate("a.txt", |entry| entry.metadata.hash = Digests::default());
    let then = copy.source.snapshot();
    copy.source.put("a.txt", "too late");
    (copy, then)
}

fn as_of(copy: &Copy, then: DateTime) -> Run {
    copy.sync_with(|options| options.as_of = Some(then))
}

#[test]
fn o151_bytes_of_now_are_not_taken_for_a_former_state_that_no_digest_tells_apart() {
    let (copy, then) = changed_later_without_digest();
    let run = as_of(&copy, then);
    assert_eq!((run.exit_code(), copy.read("a.txt")), (3, None), "{:?}", run.heard);
    assert_eq!(copy.read("b.txt").as_deref(), Some("two"), "what did not change is the same as then");
    let is_told = |(_, uri, what): &(_, String, String)| uri.ends_with("a.txt") && what.contains("TimeGate");
    assert!(run.heard.problems.iter().any(is_told), "{:?}", run.heard.problems);
}

#[test]
fn o151_a_time_gate_that_has_only_later_states_gives_none() {
    let gate = |time: &str| Page::from("of the gate").with_header("memento-datetime", time);
    for (time, expected) in [
        ("Thu, 01 Jan 2099 00:00:00 GMT", (3, None)),
        ("Thu, 01 Jan 1998 00:00:00 GMT", (0, Some("of the gate".to_owned()))),
    ] {
        let (copy, then) = changed_later_without_digest();
        copy.source.misstate("a.txt", {
            let target = Uri::parse(&copy.source.url("gate/a")).unwrap();
            move |entry| {
                (entry.metadata.hash, entry.metadata.length) = (Digests::default(), None);
                entry.links.push(Link::new(Relation::TimeGate, target.clone()));
            }
        });
        copy.source.serve("gate/a", gate(time));
        let run = as_of(&copy, then);
        assert_eq!((run.exit_code(), copy.read("a.txt")), expected, "{:?}", run.heard);
    }
}

/// Makes a Source that has a Resource List of now, an earlier one in an archive, and no changes. `b.txt` is in the earlier one
/// only, and `d/c.txt` in the later one. Returns a time between the two.
fn with_an_archived_list(copy: &Copy) -> DateTime {
    let entry = |path: &'static str, digest: &str, length: u32| {
        (path, format!("<rs:md hash='sha-256:{digest}' length='{length}'/>"))
    };
    let [a, b, c] = [
        entry("a.txt", "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", 3),
        entry("b.txt", "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3", 3),
        entry("d/c.txt", "8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f", 5),
    ];
    let list = |path: &str, time: &str, entries: [&(&'static str, String); 2]| {
        let entries = entries.map(|(path, metadata)| (*path, metadata.as_str()));
        copy.source.serve(path, document(&copy.source, "resourcelist", &format!("at='{time}'"), &entries));
    };
    let then = "2026-01-01T00:00:01Z";
    list("list-1.xml", then, [&a, &b]);
    list("list-2.xml", "2026-01-01T00:00:03Z", [&a, &c]);
    let former = format!("<rs:md at='{then}'/>");
    let archive = [("list-1.xml", former.as_str())];
    copy.source.serve("archive.xml", document(&copy.source, "resourcelist-archive", "", &archive));
    let offers = [
        ("list-2.xml", "<rs:md capability='resourcelist'/>"),
        ("archive.xml", "<rs:md capability='resourcelist-archive'/>"),
    ];
    copy.source.serve("capabilitylist.xml", document(&copy.source, "capabilitylist", "", &offers));
    DateTime::parse("2026-01-01T00:00:02Z").unwrap()
}

#[test]
fn o762_the_run_after_one_of_a_past_time_brings_the_present_back_although_no_document_is_new() {
    let copy = Copy::of_three();
    let then = with_an_archived_list(&copy);
    let sync = |as_of| copy.sync_with(|options| (options.delete, options.as_of) = (true, as_of));
    let held = || (copy.read("b.txt").is_some(), copy.read("d/c.txt").is_some());
    for (as_of, expected) in [(None, (false, true)), (Some(then), (true, false)), (None, (false, true))] {
        let run = sync(as_of);
        assert_eq!((run.exit_code(), held()), (0, expected), "{as_of:?}: {:?}", run.heard);
    }
}

#[test]
fn o763_a_run_of_a_past_time_that_ends_early_is_undone_by_the_next_run() {
    let copy = Copy::of_three();
    copy.source.put("z.txt", "was there then");
    let then = copy.source.clock().now();
    copy.source.delete("z.txt");
    let sync = || copy.sync_with(|options| options.delete = true);
    assert_eq!((sync().exit_code(), copy.read("z.txt")), (0, None));
    // The server still has the resource, although it is not listed any more.
    copy.source.serve("z.txt", "was there then");
    let run = copy.sync_with(|options| {
        (options.delete, options.as_of, options.max_transfer) = (true, Some(then), Some(1));
    });
    assert_eq!((run.exit_code(), run.report().outcome), (9, Outcome::BudgetSpent), "{:?}", run.heard);
    assert!(copy.read("z.txt").is_some(), "{:?}", run.heard);
    let run = sync();
    assert_eq!((run.exit_code(), copy.read("z.txt")), (0, None), "{:?}", run.heard);
}

#[test]
fn o767_an_audit_by_the_original_source_does_not_take_kept_versions_for_resources() {
    let copy = Copy::of_three();
    keeping(&copy);
    copy.source.put("a.txt", "newer");
    keeping(&copy);
    assert_eq!(versions(&copy, "a.txt"), ["one"]);
    let (audit, heard) = copy.audit_with(|options| options.compares_originals = true);
    let audit = audit.unwrap();
    assert_eq!((audit.exit_code(), audit.same), (0, 3), "{heard:?}");
}
