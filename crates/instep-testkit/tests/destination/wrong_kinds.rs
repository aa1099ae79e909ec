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
fn o337_a_dump_of_another_kind_is_no_inventory() {
    for (document, from, to) in [
        ("resourcedump.xml", "\"resourcedump\"", "\"changedump\""),
        ("resourcedump-manifest.xml", "resourcedump-manifest", "changedump-manifest"),
    ] {
        let copy = Copy::laid_out(|layout| (layout.dump, layout.resource_list) = (true, false));
        assert_eq!(copy.sync_with(|options| options.delete = true).exit_code(), 0);
        let before = copy.differences();
        copy.source.delete("a.txt");
        copy.source.snapshot();
        let text = String::from_utf8(copy.source.document(document).unwrap()).unwrap();
        assert!(text.contains(from), "{text}");
        // The package has its own manifest, which is read if its copy is of another kind.
        copy.source.serve("resourcedump.zip", "no package");
        copy.source.rewrite(document, move |text| text.replace(from, to));
        let run = copy.sync_with(|options| (options.delete, options.via) = (true, Via::Dump));
        assert_ne!(run.exit_code(), 0, "{:?}", run.heard);
        assert_eq!(copy.read("a.txt").as_deref(), Some("one"), "{document}: {:?}", run.heard);
        assert_eq!(before, [""; 0]);
    }
}

#[test]
fn o337_a_document_of_another_kind_tells_no_changes() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    let list = copy.source.url("changelist.xml");
    for (capability, form) in [
        ("resourcelist", "urlset"),
        ("capabilitylist", "urlset"),
        ("changelist-archive", "urlset"),
        ("changelist", "sitemapindex"),
    ] {
        let entry = if form == "urlset" { "url" } else { "sitemap" };
        let member = format!(
            "<{form} {SPACES}><rs:md capability=\"{capability}\" from=\"2026-01-01T00:00:00Z\"/>\
             <{entry}><loc>{list}</loc></{entry}></{form}>"
        );
        copy.source.serve("member.xml", member);
        let index = format!(
            "<sitemapindex {SPACES}><rs:md capability=\"changelist\" from=\"2026-01-01T00:00:00Z\"/>\
             <sitemap><loc>{}</loc><rs:md from=\"2026-01-01T00:00:00Z\"/></sitemap></sitemapindex>",
            copy.source.url("member.xml")
        );
        copy.source.serve("changelist.xml", index);
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{capability}: {:?}", run.heard);
        let told = format!("{:?}", run.heard);
        assert!(told.contains("it should be a Change List, and"), "{capability}: {told}");
        assert_eq!(copy.differences(), [""; 0], "{capability}");
    }
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
