//! Documents without times, or with wrong ones: nothing that they list is missed.

use instep_destination::{Coverage, Via};
use instep_testkit::FakeSource;

use crate::support::{Copy, in_step, without};

/// Removes attributes everywhere in the document at a path.
fn strip(source: &FakeSource, path: &str, attributes: &'static [&'static str]) {
    source.rewrite(path, move |text| {
        attributes.iter().fold(text.to_owned(), |text, attribute| without(&text, attribute))
    });
}

#[test]
fn a1_members_of_an_index_without_times_are_read() {
    for dumps in [false, true] {
        let copy = Copy::laid_out(|layout| {
            (layout.change_index, layout.change_list, layout.change_dump) = (true, !dumps, dumps);
        });
        let top = if dumps { "changedump.xml" } else { "changelist.xml" };
        strip(&copy.source, top, &["from", "until"]);
        copy.sync();
        copy.source.put("a.txt", "changed");
        copy.source.rotate();
        copy.source.put("new.txt", "new");
        in_step(&copy, &copy.sync());
        assert_eq!(copy.audit().0.unwrap().exit_code(), 0);
    }
}

#[test]
fn a1_members_that_do_not_say_their_own_times_either_are_read_too() {
    let copy = Copy::laid_out(|layout| layout.change_index = true);
    for path in ["changelist.xml", "changelist-000001.xml", "changelist-000002.xml"] {
        strip(&copy.source, path, &["from", "until"]);
    }
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.rotate();
    copy.source.put("b.txt", "changed too");
    in_step(&copy, &copy.sync());
}

#[test]
fn a2_lists_without_times_are_applied_and_their_coverage_is_unknown() {
    for paths in [&["resourcelist.xml"][..], &["changelist.xml"], &["resourcelist.xml", "changelist.xml"]] {
        let copy = Copy::laid_out(|layout| layout.change_index = false);
        paths.iter().for_each(|path| strip(&copy.source, path, &["at", "from"]));
        in_step(&copy, &copy.sync());
        copy.source.put("a.txt", "changed");
        copy.source.delete("b.txt");
        let run = copy.sync_with(|options| options.delete = true);
        in_step(&copy, &run);
        assert_eq!(run.report().coverage, Some(Coverage::Unknown), "{paths:?}");
        assert!(!run.report().is_in_step());
        assert_eq!(copy.audit().0.unwrap().exit_code(), 0);
    }
}

#[test]
fn a3_a_change_list_that_was_replaced_is_applied_and_the_gap_is_said() {
    let copy = Copy::of_three();
    let keep = || copy.sync_with(|options| options.delete = true);
    keep();
    copy.source.put("a.txt", "applied");
    keep();
    copy.source.gap();
    copy.source.put("b.txt", "listed");
    copy.source.delete("d/c.txt");
    let run = keep();
    in_step(&copy, &run);
    assert!(matches!(run.report().coverage, Some(Coverage::ChangesKnown { .. })), "{:?}", run.report());
    assert!(run.heard.notes.iter().any(|note| note.contains("a gap")), "{:?}", run.heard.notes);
    // A change that was applied before the gap is newer than the inventory, and still correct.
    let (report, heard) = copy.audit();
    assert_eq!(report.unwrap().exit_code(), 0, "{heard:?}");
    let run = keep();
    assert!(!run.report().is_in_step(), "a gap stays until the next inventory");
    copy.source.snapshot();
    copy.source.put("a.txt", "after the next inventory");
    copy.source.gap();
    copy.source.snapshot();
    let run = keep();
    in_step(&copy, &run);
    assert!(run.report().is_in_step(), "{:?}", run.report());
}

#[test]
fn b3_changes_that_begin_after_the_inventory_are_applied() {
    for via in [Via::Cheapest, Via::List] {
        let copy = Copy::of_three();
        copy.sync();
        copy.source.gap();
        copy.source.put("a.txt", "changed");
        in_step(&copy, &copy.sync_with(|options| options.via = via));
        copy.source.put("b.txt", "changed");
        in_step(&copy, &copy.sync_with(|options| options.via = via));
    }
}

#[test]
fn b4_times_far_ahead_hide_nothing() {
    // An inventory of 2099.
    let copy = Copy::of_three();
    copy.source.rewrite("resourcelist.xml", |text| text.replace("at=\"2026", "at=\"2099"));
    copy.sync();
    copy.source.put("a.txt", "changed");
    in_step(&copy, &copy.sync());
    // A change of 2099.
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.rewrite("changelist-000001.xml", |text| text.replace("datetime=\"2026", "datetime=\"2099"));
    in_step(&copy, &copy.sync());
    copy.source.heal();
    copy.source.put("a.txt", "changed once more");
    copy.source.put("b.txt", "changed");
    in_step(&copy, &copy.sync());
}

#[test]
fn b4_a_change_that_is_appended_with_an_earlier_time_is_applied() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.sync();
    copy.source.put("b.txt", "changed");
    copy.source.rewrite("changelist-000001.xml", |text| {
        let (before, last) = text.rsplit_once("datetime=\"").unwrap();
        let (_, after) = last.split_once('"').unwrap();
        format!("{before}datetime=\"2026-01-01T00:00:03Z\"{after}")
    });
    in_step(&copy, &copy.sync());
}

#[test]
fn b14_an_inventory_that_was_rewritten_within_its_second_is_read() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.snapshot();
    let at = |text: &str| {
        let from = text.find("at=\"").unwrap() + 4;
        text[from..from + 20].to_owned()
    };
    let before = String::from_utf8(copy.source.document("resourcelist.xml").unwrap()).unwrap();
    copy.source.rewrite("resourcelist.xml", move |text| text.replace(&at(&text), &at(&before)));
    copy.sync();
    copy.source.put("a.txt", "changed within the second");
    copy.source.snapshot();
    in_step(&copy, &copy.sync());
}

#[test]
fn o263_a_change_is_requested_although_its_time_of_modification_is_that_of_what_is_held() {
    let copy = Copy::laid_out(|layout| {
        (layout.change_index, layout.algorithms) = (false, Vec::new());
    });
    // A server that restores times of modification: only the times of the changes differ.
    for path in ["resourcelist.xml", "changelist.xml"] {
        copy.source.rewrite(path, |text| {
            let mut parts = text.split("<lastmod>");
            let head = parts.next().unwrap_or_default().to_owned();
            parts.fold(head, |text, part| {
                let rest = part.split_once("</lastmod>").map_or("", |(_, rest)| rest);
                text + "<lastmod>2013-01-01T00:00:00Z</lastmod>" + rest
            })
        });
    }
    in_step(&copy, &copy.sync());
    for text in ["six", "ten"] {
        copy.source.put("a.txt", text);
        in_step(&copy, &copy.sync());
    }
    copy.source.rotate();
    copy.source.forget_requests();
    in_step(&copy, &copy.sync());
    assert_eq!(copy.source.requests_for("a.txt"), 0, "the change is known");
}
