//! Entries, answers and documents that cannot be used as they are, and files that are not to be touched.

use std::fs;

use instep_testkit::{FakeSource, Fault, Layout};
use resourcesync::{Link, Relation, Uri};

use crate::support::{Copy, Run, in_step, many};

/// Makes the entry of `b.txt` in the Resource List lead to another host.
fn list_elsewhere(copy: &Copy) {
    let host = copy.source.host().to_owned();
    copy.source.rewrite("resourcelist.xml", move |text| {
        text.replace(&format!("<loc>http://{host}/b.txt"), "<loc>http://198.51.100.7/b.txt")
    });
}

fn skips_an_entry(run: &Run) {
    assert_eq!((run.exit_code(), run.report().skipped), (3, 1), "{:?}", run.heard);
    assert!(!run.report().is_in_step());
}

#[test]
fn b27_an_entry_that_cannot_be_used_stays_a_problem_until_an_inventory_replaces_it() {
    for change_list in [false, true] {
        let copy = Copy::laid_out(|layout| layout.change_list = change_list);
        list_elsewhere(&copy);
        (0..3).for_each(|_| skips_an_entry(&copy.sync()));
        assert_eq!(copy.audit().0.unwrap().exit_code(), 3);
        copy.source.put("a.txt", "changed");
        copy.source.snapshot();
        list_elsewhere(&copy);
        skips_an_entry(&copy.sync());
        copy.source.heal();
        copy.source.put("a.txt", "changed again");
        copy.source.snapshot();
        in_step(&copy, &copy.sync());
        in_step(&copy, &copy.sync());
    }
}

#[test]
fn b27_a_change_that_cannot_be_used_stays_a_problem_until_an_inventory_replaces_it() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("new.txt", "new");
    let host = copy.source.host().to_owned();
    copy.source.rewrite("changelist-000001.xml", move |text| {
        text.replace(&format!("<loc>http://{host}/new.txt"), "<loc>http://[")
    });
    (0..3).for_each(|_| skips_an_entry(&copy.sync()));
    copy.source.snapshot();
    in_step(&copy, &copy.sync());
    // The list still has the entry, and grows.
    copy.source.put("a.txt", "changed");
    in_step(&copy, &copy.sync());
}

#[test]
fn b27_an_origin_that_is_allowed_later_makes_its_entries_usable() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    list_elsewhere(&copy);
    skips_an_entry(&copy.sync());
    let run = copy.sync_with(|options| {
        options.dry_run = true;
        options.access.allow_origins.push("http://198.51.100.7".to_owned());
    });
    assert_eq!((run.exit_code(), run.report().created), (0, 1), "{:?}", run.heard);
}

#[test]
fn b28_a_304_that_nobody_asked_for_does_not_make_a_document_known() {
    // Without its Capability List a Source is found by its Resource List, which makes the exit code 3.
    for (path, exit_code) in [("resourcelist.xml", 4), ("capabilitylist.xml", 3)] {
        let copy = Copy::laid_out(|layout| layout.change_list = false);
        copy.source.fail_always(path, Fault::Status(304));
        let run = copy.sync();
        assert_eq!(run.exit_code(), exit_code, "{path}: {:?}", run.heard);
        copy.source.heal();
        in_step(&copy, &copy.sync());
    }
}

#[test]
fn b29_an_index_that_is_written_as_a_list_leads_to_its_lists() {
    let copy = Copy::laid_out(|layout| (layout.change_list, layout.part_entries) = (false, Some(2)));
    copy.source.rewrite("resourcelist.xml", |text| {
        let members = text.split("<loc>").skip(1).filter_map(|rest| rest.split("</loc>").next());
        let entries =
            members.map(|member| format!("<url><loc>{member}</loc><rs:md capability='resourcelist'/></url>"));
        format!(
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
             xmlns:rs='http://www.openarchives.org/rs/terms/'><rs:md capability='resourcelist'/>{}</urlset>",
            entries.collect::<String>()
        )
    });
    in_step(&copy, &copy.sync());
    assert_eq!(copy.audit().0.unwrap().exit_code(), 0);
}

#[test]
fn b31_nothing_is_overwritten_in_a_folder_of_others_also_where_right_files_are_kept() {
    let copy = Copy::of_three();
    fs::create_dir_all(copy.dir()).unwrap();
    fs::write(copy.dir().join("a.txt"), "mine").unwrap();
    std::os::unix::fs::symlink("a.txt", copy.dir().join("b.txt")).unwrap();
    for adopt in [false, true] {
        let run = copy.sync_with(|options| (options.into_existing, options.adopt) = (true, adopt));
        assert_eq!((run.exit_code(), run.report().failed), (3, 2), "{:?}", run.heard);
        assert_eq!(copy.read("a.txt").as_deref(), Some("mine"));
        assert!(copy.dir().join("b.txt").is_symlink());
    }
    // If the options only allow the adoption of files, others are replaced.
    in_step(&copy, &copy.sync_with(|options| options.adopt = true));
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

/// Makes the entry of a document that leads to another one unusable.
fn spoil(copy: &Copy, document: &str, member: &str) {
    let loc = format!("<loc>{}", copy.source.url(member));
    copy.source.rewrite(document, move |text| text.replace(&loc, "<loc>http://["));
}

#[test]
fn o708_a_member_of_an_index_without_a_usable_loc_is_lost_and_its_resources_stay() {
    let copy = Copy::laid_out(|layout| (layout.part_entries, layout.change_list) = (Some(1), false));
    let deleting = || copy.sync_with(|options| options.delete = true);
    in_step(&copy, &deleting());
    copy.source.put("a.txt", "changed");
    spoil(&copy, "resourcelist.xml", "resourcelist-0002.xml");
    for run in [deleting(), deleting()] {
        assert_eq!((run.exit_code(), run.report().deleted), (3, 0), "{:?}", run.heard);
        assert_eq!(
            (copy.read("a.txt").as_deref(), copy.read("b.txt").as_deref()),
            (Some("changed"), Some("two"))
        );
    }
    assert_eq!(copy.audit().0.unwrap().exit_code(), 3);
    copy.source.heal();
    in_step(&copy, &deleting());
}

#[test]
fn o708_a_change_list_whose_index_has_no_usable_loc_of_it_is_read_once_that_has_one() {
    let copy = Copy::of_three();
    in_step(&copy, &copy.sync());
    copy.source.put("a.txt", "in the first list");
    copy.source.rotate();
    copy.source.put("b.txt", "in the second list");
    spoil(&copy, "changelist.xml", "changelist-000002.xml");
    for run in [copy.sync(), copy.sync()] {
        assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
        assert_eq!(copy.read("a.txt").as_deref(), Some("in the first list"));
    }
    copy.source.heal();
    in_step(&copy, &copy.sync());
}

#[test]
fn o708_a_package_without_a_usable_loc_is_lost() {
    for changes in [false, true] {
        let copy = Copy::laid_out(|layout| {
            (layout.resource_list, layout.change_list) = (changes, false);
            (layout.dump, layout.change_dump) = (!changes, changes);
        });
        in_step(&copy, &copy.sync());
        for text in ["first", "second"] {
            copy.source.put("a.txt", text);
            copy.source.rotate();
        }
        match changes {
            false => spoil(&copy, "resourcedump.xml", "resourcedump.zip"),
            true => spoil(&copy, "changedump.xml", "changedump-000002.zip"),
        }
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
        copy.source.heal();
        in_step(&copy, &copy.sync());
    }
}

#[test]
fn o953_a_capability_that_is_not_named_is_a_problem_of_each_run() {
    let copy = Copy::of_three();
    copy.source
        .rewrite("capabilitylist.xml", |text| text.replace("capability=\"changelist\"", "length=\"1\""));
    for run in [copy.sync(), copy.sync()] {
        skips_an_entry(&run);
    }
    assert_eq!(copy.audit().0.unwrap().exit_code(), 3);
    copy.source.heal();
    in_step(&copy, &copy.sync());
}

#[test]
fn o955_a_wanted_target_of_a_link_that_is_out_of_scope_is_a_problem_until_its_origin_is_allowed() {
    let other = FakeSource::start_at("127.0.0.2", Layout::new());
    other.serve("about.xml", "about a");
    for by_change in [false, true] {
        let copy = Copy::laid_out(|layout| layout.change_list = by_change);
        let sync = |allows: bool| {
            copy.sync_with(|options| {
                options.selection.with_links.push("describedby".to_owned());
                if allows {
                    options.access.allow_origins.push(other.url("").trim_end_matches('/').to_owned());
                }
            })
        };
        in_step(&copy, &sync(false));
        let target = Uri::parse(&other.url("about.xml")).unwrap();
        copy.source.misstate("new.txt", move |entry| {
            entry.links.push(Link::new(Relation::DescribedBy, target.clone()));
        });
        copy.source.put("new.txt", "described");
        for run in [sync(false), sync(false)] {
            skips_an_entry(&run);
        }
        assert_eq!(other.requests_for("about.xml"), usize::from(by_change));
        let run = sync(true);
        assert_eq!((run.exit_code(), run.report().created), (0, 1), "{:?}", run.heard);
    }
}

#[test]
fn o666_a_wanted_link_to_what_is_never_requested_is_no_problem_of_each_run() {
    for by_change in [false, true] {
        let copy = Copy::laid_out(|layout| layout.change_list = by_change);
        let sync = || copy.sync_with(|options| options.selection.with_links.push("describedby".to_owned()));
        in_step(&copy, &sync());
        let target = Uri::parse("urn:example:about").unwrap();
        copy.source.misstate("new.txt", move |entry| {
            entry.links.push(Link::new(Relation::DescribedBy, target.clone()));
        });
        copy.source.put("new.txt", "described");
        let run = sync();
        in_step(&copy, &run);
        assert!(format!("{:?}", run.heard).contains("1 wanted links do not lead to http"), "{:?}", run.heard);
        in_step(&copy, &sync());
    }
}

#[test]
fn o967_a_member_of_an_index_with_the_loc_of_another_one_is_lost() {
    let copy = Copy::laid_out(|layout| (layout.part_entries, layout.change_list) = (Some(1), false));
    let deleting = || copy.sync_with(|options| options.delete = true);
    in_step(&copy, &deleting());
    copy.source.put("a.txt", "changed");
    let [right, wrong] = ["resourcelist-0002.xml", "resourcelist-0001.xml"].map(|part| copy.source.url(part));
    copy.source.rewrite("resourcelist.xml", move |text| {
        let (_, at) = text.split_once(" at=\"").unwrap();
        let (at, _) = at.split_once('"').unwrap();
        let timed = |at: &str| format!("<loc>{wrong}</loc><rs:md at=\"{at}\"/>");
        let text = text.replace(&right, &wrong).replace(&format!("<loc>{wrong}</loc>"), &timed(at));
        // The two entries have the times of two states.
        text.replacen(&timed(at), &timed("2025-12-31"), 1)
    });
    for run in [deleting(), deleting()] {
        assert_eq!((run.exit_code(), run.report().deleted), (3, 0), "{:?}", run.heard);
    }
    copy.source.heal();
    in_step(&copy, &deleting());
}

#[test]
fn o967_a_member_of_an_index_that_is_named_again_without_times_is_not_lost() {
    let copy = Copy::laid_out(|layout| layout.part_entries = Some(1));
    let part = copy.source.url("resourcelist-0001.xml");
    copy.source.rewrite("resourcelist.xml", move |text| {
        let (_, at) = text.split_once(" at=\"").unwrap();
        let (at, _) = at.split_once('"').unwrap();
        let timed = format!("<sitemap><loc>{part}</loc><rs:md at=\"{at}\"/></sitemap><sitemap>");
        text.replacen("<sitemap>", &timed, 1)
    });
    in_step(&copy, &copy.sync());
    copy.source.forget_requests();
    in_step(&copy, &copy.sync());
    assert_eq!(copy.source.requests_for("a.txt"), 0);
}

#[test]
fn o709_a_capability_without_a_usable_loc_is_a_problem_of_each_run() {
    let copy = Copy::of_three();
    spoil(&copy, "capabilitylist.xml", "changelist.xml");
    for run in [copy.sync(), copy.sync()] {
        skips_an_entry(&run);
    }
    assert_eq!(copy.audit().0.unwrap().exit_code(), 3);
    copy.source.heal();
    in_step(&copy, &copy.sync());
}
