//! Documents that are of another kind than their Capability List says, or of one that it names twice.

use instep_destination::Via;

use crate::support::{Copy, SPACES};

#[test]
fn r6_a_list_of_another_kind_is_no_inventory() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync_with(|options| options.delete = true).exit_code(), 0);
    copy.source.rewrite("capabilitylist.xml", move |text| text.replace("/resourcelist.xml", "/other.xml"));
    let changes = format!(
        "<urlset {SPACES}><rs:md capability=\"changelist\" from=\"2026-01-01T00:00:00Z\"/>\
         <url><loc>{}</loc><rs:md change=\"updated\"/></url></urlset>",
        copy.source.url("a.txt")
    );
    copy.source.serve("other.xml", changes);
    let run = copy.sync_with(|options| (options.delete, options.via) = (true, Via::List));
    assert_ne!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0], "nothing was deleted for not being a change");
}

#[test]
fn r7_a_second_list_of_one_kind_is_reported() {
    let copy = Copy::of_three();
    let (first, second) = (copy.source.resource_list_url(), copy.source.url("second.xml"));
    copy.source.rewrite("capabilitylist.xml", move |text| {
        let entry = format!("<url><loc>{second}</loc><rs:md capability=\"resourcelist\"/></url></urlset>");
        assert!(text.contains(&first));
        text.replace("</urlset>", &entry)
    });
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}
