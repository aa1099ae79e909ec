//! Removals from a copy: none follows from an answer, a list or an entry that cannot be used.

use instep_destination::MaxDelete;
use instep_testkit::{FakeSource, Fault, Tree};

use crate::support::{Copy, in_step, many, refused};

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
fn o801_an_entry_whose_element_has_another_name_deletes_nothing() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("b.txt");
    copy.source.snapshot();
    copy.source.lay_out(|layout| layout.change_list = false);
    copy.source.rewrite("resourcelist.xml", |text| {
        text.replacen("<url>", "<Url>", 1).replacen("</url>", "</Url>", 1)
    });
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted, run.report().skipped), (3, 0, 1), "{:?}", run.heard);
    assert_eq!(Tree::of(&copy.dir()).names(), ["a.txt", "b.txt", "d/c.txt"]);
}

#[test]
fn o823_an_entry_that_is_not_directly_under_the_root_deletes_nothing() {
    let nested = |text: String| text.replacen("</url>", "", 1).replace("</urlset>", "</url></urlset>");
    let bare = |text: String| text.replacen("<url>", "<url xmlns=\"\">", 1);
    for rewrite in [nested as fn(String) -> String, bare] {
        let copy = Copy::of_three();
        copy.sync();
        copy.source.delete("b.txt");
        copy.source.snapshot();
        copy.source.lay_out(|layout| layout.change_list = false);
        copy.source.rewrite("resourcelist.xml", rewrite);
        let run = copy.sync_with(|options| options.delete = true);
        assert_eq!((run.exit_code(), run.report().deleted), (3, 0), "{:?}", run.heard);
        assert_eq!(Tree::of(&copy.dir()).names(), ["a.txt", "b.txt", "d/c.txt"]);
    }
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
