//! Baseline synchronization with Resource Lists.

use instep_destination::{Outcome, ProblemKind, Strategy};
use instep_testkit::{FakeSource, Fault};
use resourcesync::{Entry, Uri};

use crate::support::{Copy, audited, many, three, without};

#[test]
fn a_baseline_makes_an_equal_copy() {
    let copy = Copy::of_three();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0);
    assert_eq!((run.report().created, run.report().strategy), (3, Strategy::List));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn every_entry_point_of_a_source_leads_to_the_same_copy() {
    for entrance in ["", ".well-known/resourcesync", "capabilitylist.xml", "resourcelist.xml"] {
        let copy = Copy::of_three();
        let url = copy.source.url(entrance);
        let run = copy.sync_with(|options| options.url = url);
        assert_eq!((run.exit_code(), copy.differences()), (0, vec![]), "{entrance:?}");
    }
}

#[test]
fn an_index_of_lists_is_read_as_one_inventory() {
    let copy = Copy::laid_out(|layout| layout.part_entries = Some(2));
    assert_eq!(copy.sync().report().created, 3);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn changes_since_the_list_are_folded_over_it_before_anything_is_fetched() {
    let copy = Copy::of_three();
    copy.source.put("a.txt", "newer");
    copy.source.put("e.txt", "new");
    copy.source.delete("b.txt");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.heard.problems), (0, vec![]));
    assert_eq!(copy.source.requests_for("a.txt"), 1);
    assert_eq!(copy.source.requests_for("b.txt"), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_second_run_transfers_nothing_and_asks_little() {
    let copy = Copy::of(FakeSource::start().with_resources(many(200)));
    copy.sync();
    copy.source.forget_requests();
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Nothing));
    assert!(copy.source.requests().len() <= 6, "{:?}", copy.source.tally());
}

#[test]
fn a_renewed_list_of_equal_content_transfers_nothing() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    copy.sync();
    copy.source.snapshot();
    copy.source.forget_requests();
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().unchanged), (0, 3));
    for (path, _) in three() {
        assert_eq!(copy.source.requests_for(path), 0);
    }
}

#[test]
fn a_dry_run_tells_the_plan_and_touches_nothing() {
    let copy = Copy::of_three();
    let run = copy.sync_with(|options| options.dry_run = true);
    assert_eq!(run.report().outcome, Outcome::Planned);
    assert_eq!(run.heard.plan.fetches, 3);
    assert_eq!(run.heard.itemized.len(), 3);
    assert_eq!(copy.source.requests_for("a.txt"), 0);
    assert!(!copy.dir().join("a.txt").exists());
}

#[test]
fn one_failed_resource_does_not_cost_the_others() {
    let copy = Copy::of_three();
    copy.source.fail_always("b.txt", Fault::Status(404));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created, run.report().owed), (3, 2, 1));
    assert_eq!(run.heard.problems[0].0, ProblemKind::Missing);
    copy.source.heal();
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created, run.report().owed), (0, 1, 0));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d33_a_wrong_file_never_replaces_a_right_one() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.put("a.txt", "other");
    copy.source.fail_always("a.txt", Fault::Flip);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 1));
    assert_eq!(run.heard.problems[0].0, ProblemKind::Mismatch);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.read("a.txt").as_deref(), Some("other"));
}

#[test]
fn d39_a_resource_newer_than_its_list_is_explained_by_the_change_list() {
    let copy = Copy::of_three();
    let stale = copy.source.document("changelist-000001.xml").unwrap();
    copy.source.put("a.txt", "newer than the list that is read first");
    let first = std::sync::atomic::AtomicBool::new(true);
    copy.source.rewrite("changelist-000001.xml", move |text| {
        if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            String::from_utf8(stale.clone()).unwrap()
        } else {
            text
        }
    });
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.heard.problems), (0, vec![]));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d22_an_entry_out_of_scope_is_a_problem_and_is_not_asked_for() {
    let copy = Copy::of_three();
    let elsewhere = FakeSource::start_at("127.0.0.2", instep_testkit::Layout::new()).with_resources(three());
    copy.source.list(Entry::new(Uri::parse(&elsewhere.url("a.txt")).unwrap()));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (3, 3));
    assert_eq!(run.heard.problems[0].0, ProblemKind::OutOfScope);
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn d17_a_resource_listed_twice_alike_is_fetched_once() {
    let copy = Copy::of_three();
    let twice = copy.source.document("resourcelist.xml").unwrap();
    let mut reader = resourcesync::DocumentReader::new(&twice[..], resourcesync::ReadOptions::new()).unwrap();
    let entry = reader.entries().next().unwrap().unwrap();
    copy.source.list(entry);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (0, 3));
    assert_eq!(copy.source.requests_for("a.txt"), 1);
}

#[test]
fn d16_nothing_of_a_truncated_list_is_applied() {
    let whole = Copy::of_three().source.document("resourcelist.xml").unwrap().len();
    for cut in (1..10).map(|tenth| whole * tenth / 10) {
        let copy = Copy::of_three();
        copy.source.rewrite("resourcelist.xml", move |text| text[..cut.min(text.len())].to_owned());
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "cut at {cut}");
        assert_eq!(copy.source.requests_for("a.txt"), 0);
    }
}

#[test]
fn d18_an_entry_that_cannot_be_used_does_not_cost_the_list() {
    let copy = Copy::of_three();
    copy.source.rewrite("resourcelist.xml", |text| {
        text.replace("</urlset>", "<url><lastmod>x</lastmod></url></urlset>")
    });
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created, run.report().skipped), (3, 3, 1));
}

#[test]
fn a_plain_sitemap_is_a_resource_list() {
    let copy = Copy::of_three();
    let entry = |path: &str| format!("<url><loc>{}</loc></url>", copy.source.url(path));
    let xml = format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{}{}{}</urlset>",
        entry("a.txt"),
        entry("b.txt"),
        entry("d/c.txt")
    );
    copy.source.serve("sitemap.xml", xml);
    let url = copy.source.url("sitemap.xml");
    let run = copy.sync_with(|options| options.url.clone_from(&url));
    assert_eq!((run.exit_code(), run.report().created), (0, 3));
    let again = copy.sync_with(|options| options.url = url);
    assert_eq!((again.exit_code(), again.report().created + again.report().updated), (0, 0));
}

#[test]
fn a_run_that_is_told_to_end_keeps_what_is_whole() {
    let copy = Copy::of_three();
    let run = copy.sync_with(|options| options.shutdown.request());
    assert_eq!((run.exit_code(), run.report().outcome), (130, Outcome::Interrupted));
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn nothing_at_the_url_is_exit_4() {
    let copy = Copy::of(FakeSource::start());
    let run = copy.sync_with(|options| options.url = "http://127.0.0.1:9/".to_owned());
    assert_eq!(run.exit_code(), 4);
}

#[test]
fn files_that_lie_there_already_are_adopted_where_their_digest_is_right() {
    let copy = Copy::of_three();
    std::fs::create_dir_all(copy.dir().join("d")).unwrap();
    std::fs::write(copy.dir().join("a.txt"), "one").unwrap();
    std::fs::write(copy.dir().join("d/c.txt"), "not three").unwrap();
    let run = copy.sync_with(|options| options.adopt = true);
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard.problems);
    let requests = ["a.txt", "b.txt", "d/c.txt"].map(|path| copy.source.requests_for(path));
    assert_eq!(requests, [0, 1, 1]);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(audited(&copy), (0, 3));
}

#[test]
fn o587_a_dry_run_does_not_count_files_that_would_be_adopted_as_fetched() {
    let copy = Copy::of_three();
    std::fs::create_dir_all(copy.dir().join("d")).unwrap();
    std::fs::write(copy.dir().join("a.txt"), "one").unwrap();
    std::fs::write(copy.dir().join("d/c.txt"), "not three").unwrap();
    let run = copy.sync_with(|options| (options.adopt, options.dry_run) = (true, true));
    assert_eq!((run.report().created, run.report().unchanged), (2, 1), "{:?}", run.heard);
    assert!(!copy.dir().join(".instep").exists());
}

#[test]
fn what_an_entry_links_to_is_fetched_where_it_is_asked_for() {
    let copy = Copy::of_three();
    let about = copy.source.url("about.xml");
    copy.source.serve("about.xml", "about a");
    copy.source.misstate("a.txt", move |entry| {
        let target = Uri::parse(&about).unwrap();
        entry.links.push(resourcesync::Link::new(resourcesync::Relation::DescribedBy, target));
    });
    let run = copy.sync_with(|options| options.selection.with_links.push("describedby".to_owned()));
    assert_eq!((run.exit_code(), run.report().created), (0, 4));
    assert_eq!(copy.read("about.xml").as_deref(), Some("about a"));
}

#[test]
fn o660_what_a_change_links_to_is_fetched_where_it_is_asked_for() {
    let copy = Copy::of_three();
    let sync = || copy.sync_with(|options| options.selection.with_links.push("describedby".to_owned()));
    assert_eq!(sync().exit_code(), 0);
    for path in ["about.xml", "b.txt"] {
        let target = Uri::parse(&copy.source.url(path)).unwrap();
        let new = format!("new-{path}");
        copy.source.misstate(&new, move |entry| {
            let link = resourcesync::Link::new(resourcesync::Relation::DescribedBy, target.clone());
            entry.links.push(link);
        });
        copy.source.put(&new, "new");
    }
    copy.source.serve("about.xml", "about it");
    // Its own entry says more than the link to it.
    copy.source.put("b.txt", "changed");
    let run = sync();
    assert_eq!((run.exit_code(), run.report().created, run.report().updated), (0, 3, 1), "{:?}", run.heard);
    assert_eq!(copy.read("about.xml").as_deref(), Some("about it"));
    assert_eq!((copy.read("b.txt").as_deref(), copy.source.requests_for("b.txt")), (Some("changed"), 2));
    // A list of everything names it by the same link, so that it is not surplus.
    copy.source.snapshot();
    copy.source.gap();
    let run = copy.sync_with(|options| {
        options.selection.with_links.push("describedby".to_owned());
        options.delete = true;
    });
    assert_eq!((run.exit_code(), run.report().deleted), (0, 0), "{:?}", run.heard);
}

#[test]
fn o51_what_was_deleted_and_kept_goes_once_deletions_are_wanted() {
    let copy = Copy::laid_out(|layout| layout.lastmod = false);
    copy.source.rewrite("resourcelist.xml", |text| without(&without(&text, "at"), "completed"));
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.delete("a.txt");
    copy.source.put("b.txt", "changed after the deletion");
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().kept), (0, 1), "{:?}", run.heard);
    copy.source.put("b.txt", "changed once more");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.snapshot();
    copy.source.gap();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o281_a_file_has_the_listed_time_if_the_server_states_none() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    let list = String::from_utf8(copy.source.document("resourcelist.xml").unwrap()).unwrap();
    let entry = list.split("<url>").find(|entry| entry.contains("/a.txt<")).unwrap();
    let lastmod = entry.split_once("<lastmod>").unwrap().1.split_once('<').unwrap().0;
    let modified = std::fs::metadata(copy.dir().join("a.txt")).unwrap().modified().unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    let (seconds, nanos) = resourcesync::DateTime::parse(lastmod).unwrap().instant();
    assert_eq!((since.as_secs().cast_signed(), since.subsec_nanos()), (seconds, nanos));
}
