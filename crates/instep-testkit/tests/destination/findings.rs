//! Sources that no standard layout resembles, each by the id of what was found with it (`docs/threats.md`).

use instep_destination::{Coverage, Error, Guard, MaxDelete, Via};
use instep_testkit::{FakeSource, Fault, Layout, Tree};
use resourcesync::{Entry, Uri};

use crate::support::{Copy, Run, in_step, many};

const SPACES: &str =
    "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'";

/// Takes attributes out of the elements of a document, wherever they stand.
fn without(text: &str, attributes: &[&str]) -> String {
    let mut text = text.to_owned();
    for attribute in attributes {
        let begin = format!(" {attribute}=\"");
        while let Some(from) = text.find(&begin) {
            let value = from + begin.len();
            let end = value + text[value..].find('"').unwrap() + 1;
            text.replace_range(from..end, "");
        }
    }
    text
}

fn refused(run: &Run) -> Option<Guard> {
    match &run.result {
        Err(Error::Refused { guard, .. }) => Some(*guard),
        _ => None,
    }
}

fn strip(source: &FakeSource, path: &str, attributes: &'static [&'static str]) {
    source.rewrite(path, move |text| without(&text, attributes));
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
    // A change applied before the gap is newer than the inventory, and still right.
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
fn a12_a_deletion_of_what_was_never_held_is_nothing_wherever_it_was() {
    let copy = Copy::of_three();
    copy.source.rewrite("changelist-000001.xml", |text| {
        let gone = "<url><loc>http://198.51.100.7/old</loc><rs:md change=\"deleted\" datetime=\"2026-01-01T01:00:00Z\"/></url>";
        text.replace("</urlset>", &format!("{gone}</urlset>"))
    });
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().skipped), (0, 0), "{:?}", run.heard);
}

#[test]
fn a13_different_bodies_of_one_length_are_no_login_page() {
    let copy = Copy::of(FakeSource::start().with_resources(many(60)));
    for (number, (path, _)) in many(60).into_iter().enumerate().filter(|(number, _)| number % 3 != 0) {
        copy.source.serve(&path, format!("another body {number:03}"));
    }
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (3, 20), "{:?}", run.heard);
    assert_eq!(run.report().failed, 40, "each is asked for and reported");
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
fn b5_a_404_deletes_nothing_whatever_the_change_is() {
    let copy = Copy::of(FakeSource::start().with_resources(many(30)));
    copy.sync();
    many(30).iter().for_each(|(path, _)| copy.source.put(path, "moved"));
    copy.source
        .rewrite("changelist-000001.xml", |text| text.replace("change=\"updated\"", "change=\"moved\""));
    many(30).iter().for_each(|(path, _)| copy.source.fail_always(path, Fault::Status(404)));
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (3, 0), "{:?}", run.heard);
    assert_eq!(Tree::of(&copy.dir()).names().len(), 30);
    copy.source.heal();
    in_step(&copy, &copy.sync());
}

#[test]
fn b5_an_inventory_without_a_usable_entry_is_an_empty_one() {
    let copy = Copy::of(FakeSource::start().with_resources(many(30)));
    copy.sync();
    copy.source.snapshot();
    let host = copy.source.host().to_owned();
    copy.source.rewrite("resourcelist.xml", move |text| {
        text.replace(&format!("<loc>http://{host}/n/"), "<loc>http://198.51.100.7/n/")
    });
    copy.source.lay_out(|layout| layout.change_list = false);
    for allow_empty in [false, true] {
        let run = copy.sync_with(|options| {
            (options.delete, options.max_delete) = (true, MaxDelete::Percent(100));
            options.allow_empty = allow_empty;
        });
        assert_eq!(refused(&run).is_some(), !allow_empty, "{:?}", run.heard);
        assert_eq!(Tree::of(&copy.dir()).names().len(), 30);
    }
}

#[test]
fn b5_an_entry_that_cannot_be_used_deletes_nothing() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("b.txt");
    copy.source.snapshot();
    copy.source.lay_out(|layout| layout.change_list = false);
    let host = copy.source.host().to_owned();
    copy.source.rewrite("resourcelist.xml", move |text| {
        text.replace(&format!("<loc>http://{host}/a.txt"), "<loc>http://[")
    });
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (3, 0), "{:?}", run.heard);
    assert_eq!(Tree::of(&copy.dir()).names(), ["a.txt", "b.txt", "d/c.txt"]);
}

#[test]
fn b6_what_a_newer_inventory_no_longer_names_is_no_longer_pending() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    copy.source.put("gone.txt", "soon");
    copy.source.snapshot();
    copy.source.fail_always("gone.txt", Fault::Status(404));
    assert_eq!(copy.sync().exit_code(), 3);
    copy.source.delete("gone.txt");
    copy.source.snapshot();
    let run = copy.sync();
    in_step(&copy, &run);
    assert_eq!(run.report().owed, 0);
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
fn b18_many_small_deletions_are_guarded_like_a_large_one() {
    let copy = Copy::of(FakeSource::start().with_resources(many(100)));
    copy.sync();
    let mut exit_codes = Vec::new();
    for round in many(100).chunks(5) {
        round.iter().for_each(|(path, _)| copy.source.delete(path));
        exit_codes.push(copy.sync_with(|options| options.delete = true).exit_code());
    }
    assert_eq!(exit_codes[..3], [0, 0, 6]);
    assert_eq!(Tree::of(&copy.dir()).names().len(), 90);
}

#[test]
fn b20_a_url_that_worked_before_leads_nowhere_else() {
    let copy = Copy::of_three();
    let url = copy.source.capability_list_url();
    assert_eq!(copy.sync_with(|options| options.url.clone_from(&url)).exit_code(), 0);
    let stranger = Entry::new(Uri::parse(&copy.source.url("stranger.txt")).unwrap());
    copy.source.serve("stranger.txt", "of another Source");
    copy.source.serve(
        "sitemap.xml",
        format!("<urlset {SPACES}><url><loc>{}</loc></url></urlset>", stranger.loc.as_str()),
    );
    copy.source.fail_always("capabilitylist.xml", Fault::Status(404));
    copy.source.fail_always(".well-known/resourcesync", Fault::Status(404));
    let run = copy.sync_with(|options| options.url = url);
    assert_eq!(run.exit_code(), 4, "{:?}", run.heard);
    assert_eq!(copy.read("stranger.txt"), None);
}

#[test]
fn b20_a_name_is_not_guessed_for_a_source_that_was_found_otherwise() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources([("a.txt", "one")]));
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.fail_always(".well-known/resourcesync", Fault::Status(404));
    let before = copy.source.requests_for("sitemap.xml");
    assert_eq!(copy.sync().exit_code(), 4);
    assert_eq!(copy.source.requests_for("sitemap.xml"), before);
}
