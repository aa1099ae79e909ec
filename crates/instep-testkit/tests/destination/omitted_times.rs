//! Times that a Source leaves out, and lists that it replaces: nothing listed is missed, and nothing applied is
//! undone.

use instep_destination::Coverage;
use instep_testkit::Fault;

use crate::support::{Copy, audited, in_step, with_one_change_list, without};

const CHANGE_LIST: &str = "changelist-000001.xml";

/// Removes the time of the entry for a path.
fn without_time_of(text: &str, path: &str) -> String {
    let (before, entry) = text.split_once(path).unwrap_or((text, ""));
    let (entry, rest) = entry.split_once("</url>").unwrap_or((entry, ""));
    format!("{before}{path}{}</url>{rest}", without(entry, "datetime"))
}

#[test]
fn o3_a_change_without_a_time_after_one_with_an_old_time_is_applied() {
    let copy = Copy::of_three();
    copy.source.put("a.txt", "before the inventory");
    copy.source.snapshot();
    copy.source.put("b.txt", "after the inventory");
    // Its time may be that of the entry before it or any later time.
    copy.source.rewrite(CHANGE_LIST, |text| without_time_of(&text, "b.txt"));
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.read("b.txt").as_deref(), Some("after the inventory"));
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(audited(&copy), (0, 3));
}

#[test]
fn o7_what_a_change_deleted_stays_deleted_when_the_change_is_no_longer_listed() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    assert_eq!(copy.sync_with(|options| options.delete = true).report().deleted, 1);
    // The inventory still names it, and no document explains its deletion.
    copy.source.gap();
    copy.source.put("b.txt", "changed");
    for _ in 0..2 {
        let run = copy.sync_with(|options| options.delete = true);
        assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
        assert_eq!(audited(&copy), (0, 2));
    }
    copy.source.forget_requests();
    let run = copy.sync_with(|options| (options.delete, options.repair) = (true, true));
    assert_eq!((run.exit_code(), copy.source.requests_for("a.txt")), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o7_what_a_later_inventory_names_again_comes_back() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    copy.sync_with(|options| options.delete = true);
    copy.source.put("a.txt", "again");
    copy.source.snapshot();
    copy.source.gap();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o507_what_was_deleted_long_before_the_change_list_begins_is_forgotten() {
    let copy = with_one_change_list();
    copy.source.rewrite("changelist.xml", |text| {
        let text = without(&text, "from");
        text.replacen("<rs:md ", "<rs:md from=\"2000-01-01T00:00:00Z\" ", 1)
    });
    copy.sync();
    let state = || rusqlite::Connection::open(copy.dir().join(".instep/state.sqlite")).unwrap();
    let (old, new) = (0, 4_000_000_000_000_000_i64);
    for (name, time) in [("old", old), ("new", new)] {
        let sql = "INSERT INTO gone (uri, set_id, micros) SELECT ?1, id, ?2 FROM set_of_resources";
        state().execute(sql, (copy.source.url(name), time)).unwrap();
    }
    copy.source.put("b.txt", "changed");
    copy.source.rewrite("changelist.xml", |text| text);
    let run = copy.sync();
    assert_eq!((run.exit_code(), copy.read("b.txt").as_deref()), (0, Some("changed")), "{:?}", run.heard);
    let left: Vec<i64> = {
        let state = state();
        let mut rows = state.prepare("SELECT micros FROM gone").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(left, [new]);
}

#[test]
fn o7_a_pending_change_is_not_settled_by_an_older_inventory() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.fail_always("a.txt", Fault::Status(500));
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.gap();
    let run = copy.sync_with(|options| options.repair = true);
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o8_an_unchanged_change_list_that_does_not_say_its_beginning_hides_no_inventory() {
    let copy = with_one_change_list();
    copy.source.rewrite("changelist.xml", |text| {
        let text = without(&text, "from");
        text.split_once("<url>").map_or(text.clone(), |(head, _)| format!("{head}</urlset>"))
    });
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "listed in the next inventory only");
    copy.source.snapshot();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(audited(&copy), (0, 3));
}

#[test]
fn o9_a_list_without_a_beginning_that_is_replaced_is_not_taken_for_an_old_one() {
    let copy = with_one_change_list();
    copy.source.rewrite("changelist.xml", |text| without(&text, "from"));
    copy.sync();
    copy.source.put("a.txt", "first");
    copy.source.put("b.txt", "second");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.gap();
    copy.source.put("a.txt", "third");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o11_an_inventory_without_a_time_takes_back_no_change_that_was_applied() {
    let copy = Copy::of_three();
    copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
    copy.sync_with(|options| options.delete = true);
    copy.source.put("a.txt", "changed later than the inventory");
    copy.source.put("new.txt", "created later than the inventory");
    copy.source.delete("b.txt");
    assert_eq!(copy.sync_with(|options| options.delete = true).exit_code(), 0);
    // The inventory stays as it is, and the changes are no longer listed.
    copy.source.gap();
    let run = copy.sync_with(|options| (options.delete, options.repair) = (true, true));
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    let (audited, heard) = copy.audit();
    assert_eq!(audited.unwrap().exit_code(), 0, "{heard:?}");
}

#[test]
fn o12_an_index_that_stays_as_it_is_hides_no_member_that_changed() {
    let copy = Copy::laid_out(|layout| {
        (layout.part_entries, layout.change_list) = (Some(2), false);
    });
    for list in ["resourcelist.xml", "resourcelist-0001.xml", "resourcelist-0002.xml"] {
        copy.source.rewrite(list, |text| without(&without(&text, "at"), "completed"));
    }
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "changed");
    copy.source.snapshot();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o14_what_is_uncovered_is_looked_for_in_the_next_inventory() {
    let copy = with_one_change_list();
    copy.source.put("new.txt", "listed in the next inventory only");
    copy.source.gap();
    copy.source.put("b.txt", "listed as a change");
    copy.source.rewrite("changelist.xml", |text| without(&text, "from"));
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.read("new.txt"), None, "nothing names it");
    copy.source.snapshot();
    copy.source.put("a.txt", "listed as a change");
    // The list reaches back to the last run, which does not say what was before it.
    copy.source.heal();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(audited(&copy), (0, 4));
}

#[test]
fn o28_a_gap_without_news_is_remembered() {
    let copy = with_one_change_list();
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("new.txt", "of which nothing is listed");
    copy.source.gap();
    let coverage = |copy: &Copy| copy.sync().report().coverage.unwrap();
    let known = coverage(&copy);
    assert!(matches!(known, Coverage::ChangesKnown { .. }), "{known:?}");
    // Now no document shows it.
    copy.source.fail_always("changelist.xml", Fault::Status(404));
    assert_eq!(coverage(&copy), known);
    copy.source.heal();
    copy.source.snapshot();
    assert!(coverage(&copy).is_complete());
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o776_a_gap_is_remembered_although_a_later_list_is_lost() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("new.txt", "of which nothing is listed");
    copy.source.gap();
    copy.source.put("a.txt", "in the second list");
    copy.source.rotate();
    copy.source.put("b.txt", "in the third list");
    copy.source.fail_always("changelist-000003.xml", Fault::Status(500));
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.heal();
    let run = copy.sync();
    assert!(run.report().coverage.is_some_and(|coverage| !coverage.is_complete()), "{:?}", run.heard);
    copy.source.snapshot();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o15_a_change_without_a_time_is_not_taken_back_by_an_inventory_from_before_it() {
    let copy = with_one_change_list();
    copy.source.rewrite("changelist.xml", |text| without(&text, "datetime"));
    copy.sync_with(|options| options.delete = true);
    copy.source.put("a.txt", "in the inventory");
    copy.source.snapshot();
    copy.source.put("a.txt", "after the inventory");
    copy.source.put("new.txt", "after the inventory");
    assert_eq!(copy.sync_with(|options| options.delete = true).exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
    // The same inventory, and the changes are no longer listed.
    copy.source.gap();
    copy.source.put("b.txt", "changed");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(audited(&copy), (0, 4));
}

/// Removes the times of all entries for a path.
fn without_times_of(text: &str, path: &str) -> String {
    let untimed =
        |entry: &str| if entry.contains(path) { without(entry, "datetime") } else { entry.to_owned() };
    text.split("<url>").map(untimed).collect::<Vec<_>>().join("<url>")
}

#[test]
fn o16_a_change_without_a_time_is_not_taken_for_an_old_one() {
    let copy = with_one_change_list();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.put("b.txt", "changed");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.delete("b.txt");
    // A list with another beginning is read again, although the time before these entries is older than what the copy
    // holds.
    copy.source.rewrite("changelist.xml", |text| without_times_of(&without(&text, "from"), "b.txt"));
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o20_lists_that_were_read_are_told_by_the_times_of_changes_that_stand_in_lastmod() {
    let copy = Copy::of_three();
    copy.source.rewrite("changelist.xml", |text| without(&without(&text, "from"), "until"));
    for number in 1..=3 {
        let list = format!("changelist-{number:06}.xml");
        let untimed = |text: String| without(&without(&without(&text, "from"), "until"), "datetime");
        copy.source.rewrite(&list, untimed);
    }
    let delete = |options: &mut instep_destination::SyncOptions| options.delete = true;
    copy.sync_with(delete);
    copy.source.delete("b.txt");
    copy.source.rotate();
    copy.source.put("b.txt", "again");
    assert_eq!(copy.sync_with(delete).exit_code(), 0);
    copy.source.rotate();
    copy.source.put("a.txt", "changed");
    let run = copy.sync_with(delete);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o47_a_new_inventory_that_says_nothing_of_the_bytes_ends_the_wait_for_those_that_are_gone() {
    let copy = Copy::laid_out(|layout| layout.lastmod = false);
    copy.source.rewrite("resourcelist.xml", |text| {
        ["at", "completed", "hash", "length"].iter().fold(text, |text, attribute| without(&text, attribute))
    });
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "second");
    copy.source.fail("a.txt", [Fault::Status(500), Fault::Status(500)]);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    copy.source.put("a.txt", "the third, of which no change is listed");
    copy.source.put("new.txt", "so that the inventory is another one");
    copy.source.snapshot();
    copy.source.gap();
    in_step(&copy, &copy.sync());
}
