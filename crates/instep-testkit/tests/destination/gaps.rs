//! Gaps between Change Lists: closed from the archive, or by reading the inventory again.

use instep_destination::{Shutdown, Strategy};
use instep_testkit::Fault;

use crate::support::{Copy, SPACES, in_step, reversed, without};

#[test]
fn d40_a_gap_falls_back_to_a_baseline_and_says_so() {
    let copy = Copy::of_three();
    copy.sync_with(|options| options.delete = true);
    copy.source.put("a.txt", "lost");
    copy.source.delete("b.txt");
    copy.source.gap();
    copy.source.snapshot();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::List));
    assert!(run.heard.notes.iter().any(|note| note.contains("gap")), "{:?}", run.heard.notes);
    assert_eq!(copy.differences(), [""; 0]);
}

/// Returns a copy of a Source whose Change List of a change since then is in an archive only.
fn with_archived_change() -> Copy {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "in a list that is archived");
    copy.source.rotate();
    let closed = String::from_utf8(copy.source.document("changelist-000001.xml").unwrap()).unwrap();
    let interval = |name: &str| {
        let from = closed.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        closed[from..].split('"').next().unwrap().to_owned()
    };
    copy.source.serve("archived-1.xml", closed.clone());
    copy.source.serve(
        "archive.xml",
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md capability=\"changelist-archive\"/>\
             <url><loc>{}</loc><rs:md capability=\"changelist\" from=\"{}\" until=\"{}\"/></url></urlset>",
            copy.source.url("archived-1.xml"),
            interval("from"),
            interval("until")
        ),
    );
    let offer = format!(
        "<url><loc>{}</loc><rs:md capability=\"changelist-archive\"/></url></urlset>",
        copy.source.url("archive.xml")
    );
    copy.source.rewrite("capabilitylist.xml", move |text| text.replace("</urlset>", &offer));
    copy.source.rewrite("changelist.xml", |text| {
        let index = text.find("<sitemap>").unwrap();
        let second = text[index + 1..].find("<sitemap>").unwrap() + index + 1;
        format!("{}{}", &text[..index], &text[second..])
    });
    copy
}

#[test]
fn a_gap_is_closed_by_the_archive_where_that_reaches_back() {
    let copy = with_archived_change();
    copy.source.put("b.txt", "in the open list");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Changes));
    assert!(run.heard.notes.iter().any(|note| note.contains("archive")), "{:?}", run.heard.notes);
    assert_eq!(copy.source.requests_for("resourcelist.xml"), 1, "the first run only");
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o1080_an_archive_with_an_entry_that_cannot_be_used_closes_no_gap() {
    let copy = Copy::of_three();
    copy.sync();
    let archived = |number: u32, path: &str| {
        copy.source.put(path, "in a list that is archived");
        copy.source.rotate();
        let name = format!("changelist-{number:06}.xml");
        let list = String::from_utf8(copy.source.document(&name).unwrap()).unwrap();
        let from = list.split(" from=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        (copy.source.url(&name), from)
    };
    let ((first, begins), (second, next)) = (archived(1, "a.txt"), archived(2, "b.txt"));
    let archive = |second: &str| {
        let entry = |loc: &str, from: &str| {
            format!("<url><loc>{loc}</loc><rs:md capability='changelist' from='{from}'/></url>")
        };
        let root = "<rs:md capability='changelist-archive'/>";
        let entries = entry(&first, &begins) + &entry(second, &next);
        copy.source.serve("archive.xml", format!("<urlset {SPACES}>{root}{entries}</urlset>"));
    };
    let offer = format!(
        "<url><loc>{}</loc><rs:md capability=\"changelist-archive\"/></url></urlset>",
        copy.source.url("archive.xml")
    );
    copy.source.rewrite("capabilitylist.xml", move |text| text.replace("</urlset>", &offer));
    copy.source.rewrite("changelist.xml", |text| {
        let (first, last) = (text.find("<sitemap>").unwrap(), text.rfind("<sitemap>").unwrap());
        format!("{}{}", &text[..first], &text[last..])
    });
    archive("");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().is_in_step()), (3, false), "{:?}", run.heard);
    archive(&second);
    in_step(&copy, &copy.sync());
}

#[test]
fn a_change_list_that_is_gone_is_a_gap() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "changed");
    copy.source.rotate();
    copy.source.snapshot();
    copy.source.fail_always("changelist-000001.xml", Fault::Status(410));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::List), "{:?}", run.heard.notes);
    assert!(run.heard.notes.iter().any(|note| note.contains("gap")), "{:?}", run.heard.notes);
    assert_eq!(copy.differences(), [""; 0]);
}

/// Makes changes of which one is only in the Change Dumps, one only in the Change Lists, and one between them in neither.
fn leave_gap_after_dumps(copy: &Copy) {
    copy.source.put("b.txt", "packed");
    copy.source.rotate();
    copy.source.freeze(&["changedump.xml", "changedump-000001.zip", "changedump-000001-manifest.xml"]);
    copy.source.put("a.txt", "neither packed nor listed");
    copy.source.gap();
    copy.source.put("d/c.txt", "listed");
}

#[test]
fn o451_change_lists_that_begin_after_the_change_dumps_end_are_read_and_leave_a_gap() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    copy.sync();
    leave_gap_after_dumps(&copy);
    for _ in 0..2 {
        let run = copy.sync();
        assert!(!run.report().is_in_step(), "{:?}", run.heard);
        let read = |path| copy.read(path);
        assert_eq!((read("b.txt").as_deref(), read("d/c.txt").as_deref()), (Some("packed"), Some("listed")));
    }
    copy.source.snapshot();
    in_step(&copy, &copy.sync());
}

#[test]
fn o517_a_past_state_is_refused_if_changes_are_missing_between_the_change_dumps_and_the_change_lists() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    let then = copy.source.clock().now();
    leave_gap_after_dumps(&copy);
    copy.source.snapshot();
    let run = copy.sync_with(|options| options.as_of = Some(then));
    assert_eq!((run.exit_code(), copy.read("a.txt")), (2, None), "{:?}", run.heard);
}

#[test]
fn o458_changes_that_leave_the_lists_while_resources_are_fetched_are_a_gap_of_the_next_run() {
    let copy = Copy::of_three();
    // No list explains it, so the changes are read again.
    copy.source.misstate("b.txt", |entry| entry.metadata.length = Some(1));
    copy.source.fail("d/c.txt", [Fault::Hold]);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| copy.sync());
        copy.source.wait_for("d/c.txt", 1);
        copy.source.put("lost.txt", "not listed any more");
        copy.source.gap();
        copy.source.put("listed.txt", "listed");
        copy.source.release();
        run.join().unwrap()
    });
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.read("listed.txt").as_deref(), Some("listed"));
    copy.source.heal();
    copy.source.snapshot();
    in_step(&copy, &copy.sync());
}

#[test]
fn o459_an_archive_that_a_stopped_run_does_not_get_is_not_lost_by_the_source() {
    let copy = with_archived_change();
    copy.source.fail_always("archive.xml", Fault::Hold);
    let end = Shutdown::new();
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| copy.sync_with(|options| options.shutdown = end.clone()));
        copy.source.wait_for("archive.xml", 1);
        end.request();
        run.join().unwrap()
    });
    assert_eq!((run.exit_code(), run.heard.problems), (130, vec![]));
}

#[test]
fn o702_members_of_an_index_that_are_listed_newest_first_are_no_gap() {
    let copy = Copy::of_three();
    copy.source.rewrite("changelist.xml", |text| reversed(&text, "sitemap"));
    in_step(&copy, &copy.sync());
    copy.source.put("a.txt", "in the first list");
    copy.source.rotate();
    copy.source.put("b.txt", "in the second list");
    for text in ["in the open list", "in the open list, later"] {
        copy.source.put("d/c.txt", text);
        let run = copy.sync();
        in_step(&copy, &run);
        assert_eq!((run.report().is_in_step(), run.report().strategy), (true, Strategy::Changes), "{text}");
    }
}

#[test]
fn o702_an_unchanged_index_hides_no_growth_of_an_open_list_that_it_does_not_name_last() {
    const FIRST: &str = "changelist-000001.xml";
    let copy = Copy::of_three();
    // Without the beginning of the first list, nothing shows that the newest is listed first.
    copy.source.rewrite("changelist.xml", |text| {
        let text = reversed(&text, "sitemap");
        let (others, first) = text.split_once(FIRST).unwrap();
        format!("{others}{FIRST}{}", without(first, "from"))
    });
    in_step(&copy, &copy.sync());
    copy.source.put("a.txt", "in the first list");
    copy.source.rotate();
    for text in ["in the open list", "in the open list, later"] {
        copy.source.put("d/c.txt", text);
        in_step(&copy, &copy.sync());
    }
}
