//! Documents that lead to others, with an entry that leads nowhere: what it should lead to is unknown, and not absent.

use instep_testkit::Layout;

use crate::support::{Copy, Run};

/// Adds an entry without `loc` to an index or a dump, before the others.
fn with_entry_that_leads_nowhere(copy: &Copy, document: &str) {
    copy.source.rewrite(document, |text| {
        text.replacen("<sitemap>", "<sitemap/><sitemap>", 1).replacen("<url>", "<url/><url>", 1)
    });
}

fn deleting(copy: &Copy) -> Run {
    copy.sync_with(|options| options.delete = true)
}

#[test]
fn o708_an_entry_of_an_index_or_a_dump_that_leads_nowhere_deletes_nothing() {
    let in_parts = |layout: &mut Layout| layout.part_entries = Some(2);
    let in_a_dump = |layout: &mut Layout| (layout.resource_list, layout.dump) = (false, true);
    let layouts: [fn(&mut Layout); 2] = [in_parts, in_a_dump];
    for (document, lay_out) in ["resourcelist.xml", "resourcedump.xml"].into_iter().zip(layouts) {
        let copy = Copy::laid_out(|layout| {
            layout.change_list = false;
            lay_out(layout);
        });
        assert_eq!(deleting(&copy).exit_code(), 0, "{document}");
        copy.source.delete("b.txt");
        copy.source.snapshot();
        with_entry_that_leads_nowhere(&copy, document);
        for _ in 0..2 {
            let run = deleting(&copy);
            assert_eq!((run.exit_code(), run.report().deleted), (3, 0), "{document}: {:?}", run.heard);
        }
        copy.source.heal();
        let run = deleting(&copy);
        assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{document}: {:?}", run.heard);
    }
}

#[test]
fn o708_changes_may_be_missing_while_an_entry_of_an_index_or_a_dump_leads_nowhere() {
    for (document, by_dump) in [("changelist.xml", false), ("changedump.xml", true)] {
        let copy = Copy::laid_out(|layout| (layout.change_list, layout.change_dump) = (!by_dump, by_dump));
        assert_eq!(copy.sync().exit_code(), 0, "{document}");
        copy.source.put("a.txt", "changed");
        copy.source.rotate();
        with_entry_that_leads_nowhere(&copy, document);
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{document}: {:?}", run.heard);
        assert_eq!(copy.differences(), [""; 0], "{document}: what the others list is applied");
        copy.source.heal();
        assert_eq!(copy.sync().exit_code(), 0, "{document}");
    }
}

#[test]
fn o708_changes_may_be_missing_while_an_entry_of_a_capability_list_leads_nowhere() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    with_entry_that_leads_nowhere(&copy, "capabilitylist.xml");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
}
