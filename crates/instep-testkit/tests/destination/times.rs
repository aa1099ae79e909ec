//! Times as Sources write them (D38): only those of the Source are compared with each other.

use instep_destination::Coverage;
use instep_testkit::Fault;

use crate::support::{Copy, audited, in_step, without};

/// Rewrites each `datetime` of the Change List.
fn with_times(copy: &Copy, anew: impl Fn(&str) -> String + Send + 'static) {
    copy.source.rewrite("changelist-000001.xml", move |text| {
        let mut parts = text.split("datetime=\"");
        let head = parts.next().unwrap_or_default().to_owned();
        parts.fold(head, |text, part| {
            let (time, rest) = part.split_once('"').unwrap_or_default();
            format!("{text}datetime=\"{}\"{rest}", anew(time))
        })
    });
}

#[test]
fn d38_a_second_change_in_the_same_instant_is_applied() {
    let copy = Copy::of_three();
    with_times(&copy, |_| "2026-01-01T01:00:00Z".to_owned());
    copy.sync();
    copy.source.put("a.txt", "first");
    copy.sync();
    copy.source.put("b.txt", "second, at the same time");
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d38_a_time_far_in_the_future_hides_no_later_change() {
    let copy = Copy::of_three();
    let first = std::sync::OnceLock::new();
    with_times(&copy, move |time| {
        if first.get_or_init(|| time.to_owned()) == time {
            "2126-01-01T00:00:00Z".to_owned()
        } else {
            time.to_owned()
        }
    });
    copy.sync();
    copy.source.put("a.txt", "by a clock that is a century ahead");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("b.txt", "by the right clock");
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
    copy.source.rotate();
    copy.source.put("d/c.txt", "in the next list");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d38_times_in_any_zone_and_of_any_precision_are_compared_as_instants() {
    for anew in [
        |time: &str| time.replace('Z', "+00:00"),
        |time: &str| time.replace("T00:", "T14:").replace('Z', "+14:00"),
        |time: &str| time.split('T').next().unwrap_or_default().to_owned(),
    ] {
        let copy = Copy::of_three();
        with_times(&copy, anew);
        copy.sync();
        for text in ["first", "second, maybe on the same day"] {
            copy.source.put("a.txt", text);
            assert_eq!(copy.sync().exit_code(), 0, "{}", anew("2026-01-01T00:00:00Z"));
            assert_eq!(copy.differences(), [""; 0], "{}", anew("2026-01-01T00:00:00Z"));
        }
    }
}

const THIRTY_YEARS: i64 = 30 * 365 * 86_400;

/// A copy of a Source whose clock, and that of its server, were thirty years ahead when the copy was made.
fn made_by_a_clock_ahead(copy: &Copy) {
    copy.source.clock().advance(THIRTY_YEARS);
    copy.source.put("a.txt", "listed by a clock that is ahead");
    copy.source.snapshot();
    for document in ["capabilitylist.xml", "resourcelist.xml", "changelist.xml", "changelist-000001.xml"] {
        copy.source.fail_always(document, Fault::Header("Date", "Sat, 01 Jan 2056 00:00:00 GMT".to_owned()));
    }
    in_step(copy, &copy.sync());
    copy.source.put("b.txt", "changed by a clock that is ahead");
    let run = copy.sync();
    in_step(copy, &run);
    assert!(run.report().checkpoint.is_some_and(|time| time.to_string().starts_with("2055")));
}

fn put_the_clock_right(copy: &Copy) {
    copy.source.heal();
    copy.source.clock().advance(-THIRTY_YEARS);
    copy.source.rotate();
}

#[test]
fn o33_a_clock_that_is_put_back_hides_no_change() {
    let copy = Copy::of_three();
    made_by_a_clock_ahead(&copy);
    put_the_clock_right(&copy);
    copy.source.put("a.txt", "changed by the right clock");
    copy.source.put("b.txt", "changed by the right clock");
    copy.source.put("new.txt", "created by the right clock");
    copy.source.delete("d/c.txt");
    let run = copy.sync_with(|options| options.delete = true);
    in_step(&copy, &run);
    assert!(run.heard.notes.iter().any(|note| note.contains("is in the future")), "{:?}", run.heard.notes);
    assert_eq!(run.report().coverage, Some(Coverage::Unknown), "nobody knows since when the clock is right");
    assert_eq!(audited(&copy), (0, 3));
    copy.source.put("a.txt", "changed once more");
    let run = copy.sync_with(|options| options.delete = true);
    in_step(&copy, &run);
    assert!(!run.heard.notes.iter().any(|note| note.contains("is in the future")), "{:?}", run.heard.notes);
    copy.source.snapshot();
    let run = copy.sync_with(|options| options.delete = true);
    in_step(&copy, &run);
    assert!(run.report().coverage.is_some_and(Coverage::is_complete), "by the new inventory");
}

#[test]
fn o33_an_inventory_from_after_a_clock_was_put_back_is_no_old_one() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    copy.source.clock().advance(THIRTY_YEARS);
    copy.source.put("a.txt", "listed by a clock that is ahead");
    let sent = Fault::Header("Date", "Sat, 01 Jan 2056 00:00:00 GMT".to_owned());
    copy.source.fail_always("resourcelist.xml", sent);
    in_step(&copy, &copy.sync());
    copy.source.heal();
    copy.source.clock().advance(-THIRTY_YEARS);
    copy.source.put("a.txt", "listed by the right clock");
    copy.source.delete("b.txt");
    in_step(&copy, &copy.sync_with(|options| options.delete = true));
    assert_eq!(audited(&copy), (0, 2));
}

#[test]
fn o33_what_is_pending_since_a_clock_was_ahead_outlasts_no_later_change() {
    let copy = Copy::of_three();
    made_by_a_clock_ahead(&copy);
    copy.source.put("a.txt", "never to be had");
    copy.source.fail_always("a.txt", Fault::Status(500));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
    put_the_clock_right(&copy);
    copy.source.delete("a.txt");
    in_step(&copy, &copy.sync_with(|options| options.delete = true));
    assert_eq!(audited(&copy), (0, 2));
    // The held resource has an impossible time, and the inventory may be older.
    in_step(&copy, &copy.sync_with(|options| (options.delete, options.repair) = (true, true)));
}

const DAY: i64 = 86_400;

/// Makes each answer state this time.
fn answer_at(copy: &Copy, date: &str) {
    let documents = ["capabilitylist.xml", "resourcelist.xml", "changelist.xml"];
    let lists = ["changelist-000001.xml", "changelist-000002.xml"];
    for path in ["", ".well-known/resourcesync"].iter().chain(&documents).chain(&lists) {
        copy.source.fail_always(path, Fault::Header("Date", date.to_owned()));
    }
}

/// Returns a copy in step with a Source whose clock then went back three days, before a resource was changed.
fn of_a_clock_that_went_back(changed: &str) -> Copy {
    let copy = Copy::of_three();
    copy.source.clock().advance(10 * DAY);
    copy.source.put("a.txt", "by the right clock");
    answer_at(&copy, "Sun, 11 Jan 2026 12:00:00 GMT");
    in_step(&copy, &copy.sync());
    copy.source.clock().advance(-3 * DAY);
    copy.source.rotate();
    copy.source.put(changed, "by a clock that went back");
    answer_at(&copy, "Thu, 08 Jan 2026 12:00:00 GMT");
    copy
}

#[test]
fn o45_a_clock_that_went_back_is_reported_and_its_changes_are_not_taken_for_known() {
    let copy = of_a_clock_that_went_back("b.txt");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(run.report().coverage, Some(Coverage::Unknown));
    assert!(format!("{:?}", run.heard.problems).contains("went back"), "{:?}", run.heard.problems);
    assert_ne!(audited(&copy).0, 0);

    // The clock is right again. Until everything is listed again, it is unknown what was missed meanwhile.
    copy.source.clock().advance(4 * DAY);
    copy.source.put("d/c.txt", "by the right clock again");
    answer_at(&copy, "Mon, 12 Jan 2026 12:00:00 GMT");
    assert_eq!(copy.sync().report().coverage, Some(Coverage::Unknown));
    copy.source.snapshot();
    let run = copy.sync();
    in_step(&copy, &run);
    assert!(run.report().coverage.is_some_and(Coverage::is_complete), "by the new inventory");
}

#[test]
fn o54_an_inventory_from_a_time_that_the_clock_went_back_over_leaves_the_coverage_unknown() {
    let copy = of_a_clock_that_went_back("a.txt");
    assert_eq!(copy.sync().exit_code(), 3);

    // The clock of the server is right again, that of the Source is not: its inventory seems to be older than the copy.
    copy.source.clock().advance(DAY);
    copy.source.snapshot();
    answer_at(&copy, "Mon, 12 Jan 2026 12:00:00 GMT");
    for _ in 0..2 {
        assert_eq!(copy.sync().report().coverage, Some(Coverage::Unknown));
    }
    copy.source.clock().advance(4 * DAY);
    copy.source.snapshot();
    answer_at(&copy, "Wed, 14 Jan 2026 12:00:00 GMT");
    let run = copy.sync();
    in_step(&copy, &run);
    assert!(run.report().coverage.is_some_and(Coverage::is_complete), "by the new inventory");
}

#[test]
fn o46_an_entry_from_before_its_list_began_came_by_a_clock_that_went_back() {
    let copy = Copy::of_three();
    copy.source.clock().advance(10 * DAY);
    copy.source.put("a.txt", "by the right clock");
    in_step(&copy, &copy.sync());
    copy.source.rotate();
    copy.source.clock().advance(-3 * DAY);
    copy.source.put("b.txt", "by a clock that went back");
    copy.source.delete("d/c.txt");
    copy.source.clock().advance(4 * DAY);
    copy.source.put("a.txt", "by the right clock again");
    in_step(&copy, &copy.sync_with(|options| options.delete = true));
    assert_eq!(audited(&copy), (0, 2));
}

#[test]
fn o55_the_beginning_of_a_list_may_stand_in_its_index() {
    let copy = Copy::of_three();
    copy.source.clock().advance(10 * DAY);
    copy.source.put("new.txt", "by the right clock");
    in_step(&copy, &copy.sync_with(|options| options.delete = true));
    copy.source.clock().advance(-3 * DAY);
    copy.source.delete("new.txt");
    copy.source.clock().advance(4 * DAY);
    copy.source.put("a.txt", "by the right clock again");
    copy.source.rewrite("changelist-000001.xml", |text| without(&text, "from"));
    copy.source.rewrite("changelist.xml", |text| text.replace("from=\"2026-01-01", "from=\"2026-01-10"));
    in_step(&copy, &copy.sync_with(|options| options.delete = true));
}
