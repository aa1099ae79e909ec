//! Inventories in several parts, behind an index.

use instep_testkit::{FakeSource, Fault, Layout};

use crate::{
    sets::{list_shared, publish, serve_behind_index},
    support::{Copy, in_step, without},
};

#[test]
fn o48_an_index_of_which_no_part_can_be_had_is_a_lost_inventory() {
    let copy = Copy::laid_out(|layout| (layout.part_entries, layout.change_index) = (Some(2), false));
    copy.source.rewrite("changelist.xml", |text| without(&text, "from"));
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "changed before the new inventory");
    copy.source.snapshot();
    for part in ["resourcelist-0001.xml", "resourcelist-0002.xml"] {
        copy.source.fail_always(part, Fault::Status(500));
    }
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert!(run.report().reason.contains("the inventory is lost"), "{}", run.report().reason);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o988_an_index_within_an_index_is_reported_with_the_way_to_copy_it() {
    let copy = Copy::laid_out(|layout| layout.part_entries = Some(2));
    copy.source.rewrite("resourcelist-0001.xml", |text| {
        let text = text.replace("urlset", "sitemapindex");
        text.replace("<url>", "<sitemap>").replace("</url>", "</sitemap>")
    });
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert!(format!("{:?}", run.heard.problems).contains("from its own URL"), "{:?}", run.heard);
}

#[test]
fn o49_an_index_without_a_time_that_was_applied_takes_back_nothing_that_came_by_another_set_since() {
    let mut layout = Layout::new();
    layout.change_list = false;
    let copy = Copy::of(FakeSource::start_with(layout).with_resources([("shared.txt", "first")]));
    publish(&copy.source, 0, [&["shared.txt"], &["shared.txt"]]);
    for name in ["one", "two"] {
        list_shared(&copy.source, name, "", 1, "first".len());
        serve_behind_index(&copy.source, name);
    }
    in_step(&copy, &copy.sync());
    copy.source.put("shared.txt", "the second");
    list_shared(&copy.source, "two", "", 5, "the second".len());
    in_step(&copy, &copy.sync());
    let (audited, heard) = copy.audit();
    assert_eq!(audited.map(|report| report.exit_code()).unwrap(), 0, "{heard:?}");
}
