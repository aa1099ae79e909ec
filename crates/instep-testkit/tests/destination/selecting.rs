//! Selections of resources, and pages that are no resources.

use instep_destination::{SyncOptions, Via};
use instep_testkit::{FakeSource, Fault, Page};
use resourcesync::{Link, MediaType, Relation, Uri};

use crate::{
    sets::{document, publish},
    support::{Copy, Run, many},
};

fn link(copy: &Copy, path: &'static str, relation: Relation, target: &str, media_type: Option<&'static str>) {
    let target = Uri::parse(&copy.source.url(target)).unwrap();
    copy.source.misstate(path, move |entry| {
        let mut link = Link::new(relation.clone(), target.clone());
        link.media_type = media_type.map(MediaType::new);
        entry.links.push(link);
    });
}

/// Returns two described resources, one of them by JSON and one by XML, and one without a description.
fn described() -> Copy {
    let copy = Copy::of_three();
    copy.source.serve("about/a.json", "{\"year\": 2021, \"by\": [\"Noether\", \"Hilbert\"]}");
    copy.source.serve("about/b.xml", "<dc xmlns='urn:x'><year>1915</year><by>Hilbert</by></dc>");
    link(&copy, "a.txt", Relation::DescribedBy, "about/a.json", None);
    link(&copy, "b.txt", Relation::DescribedBy, "about/b.xml", None);
    copy
}

fn choosing(copy: &Copy, condition: &str) -> Run {
    copy.sync_with(|options| options.selection.where_metadata = Some(condition.to_owned()))
}

fn held(copy: &Copy) -> Vec<&'static str> {
    ["a.txt", "b.txt", "d/c.txt"].into_iter().filter(|path| copy.read(path).is_some()).collect()
}

#[test]
fn records_are_read_first_and_what_matches_is_fetched() {
    for (condition, expected) in [
        ("/year > 2000", vec!["a.txt"]),
        ("by = Hilbert", vec!["a.txt", "b.txt"]),
        ("by = Hilbert and year < 2000", vec!["b.txt"]),
        ("title", vec![]),
    ] {
        let copy = described();
        let run = choosing(&copy, condition);
        assert_eq!((run.exit_code(), held(&copy)), (0, expected), "{condition}: {:?}", run.heard);
        assert_eq!(copy.source.requests_for("d/c.txt"), 0);
    }
}

#[test]
fn a_change_is_chosen_by_its_record_too() {
    let copy = described();
    choosing(&copy, "/year > 2000");
    copy.source.put("a.txt", "newer");
    copy.source.put("b.txt", "newer too");
    let run = choosing(&copy, "/year > 2000");
    assert_eq!((run.exit_code(), run.report().updated, held(&copy)), (0, 1, vec!["a.txt"]));
}

#[test]
fn o657_what_was_published_while_resources_were_fetched_is_chosen_by_its_record_too() {
    let copy = described();
    link(&copy, "new.txt", Relation::DescribedBy, "about/b.xml", None);
    let record = Uri::parse(&copy.source.url("about/a.json")).unwrap();
    // No list explains its length, so the changes are read again.
    copy.source.misstate("a.txt", move |entry| {
        entry.links.push(Link::new(Relation::DescribedBy, record.clone()));
        entry.metadata.length = Some(1);
    });
    copy.source.fail("a.txt", [Fault::Hold]);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| choosing(&copy, "by = Noether"));
        copy.source.wait_for("a.txt", 1);
        copy.source.put("new.txt", "not selected");
        copy.source.release();
        run.join().unwrap()
    });
    assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
    assert_eq!((copy.read("new.txt"), copy.source.requests_for("new.txt")), (None, 0), "{:?}", run.heard);
}

#[test]
fn a_record_that_changes_chooses_its_resources_again() {
    let copy = Copy::of_three();
    copy.source.put("about/b.json", "{\"year\": 1915}");
    copy.source.snapshot();
    link(&copy, "b.txt", Relation::DescribedBy, "about/b.json", None);
    assert_eq!((choosing(&copy, "/year > 2000").exit_code(), held(&copy)), (0, vec![]));
    copy.source.put("about/b.json", "{\"year\": 2015}");
    let run = choosing(&copy, "/year > 2000");
    assert_eq!((run.exit_code(), held(&copy)), (0, vec!["b.txt"]), "{:?}", run.heard.notes);
    assert_eq!(choosing(&copy, "/year > 2000").report().created, 0);
}

#[test]
fn a_record_that_does_not_come_leaves_its_resource_owed() {
    let copy = described();
    copy.source.fail_always("about/a.json", Fault::Status(404));
    let run = choosing(&copy, "/year > 2000");
    assert_eq!((run.exit_code(), held(&copy)), (3, vec![]), "{:?}", run.heard);
    copy.source.heal();
    link(&copy, "a.txt", Relation::DescribedBy, "about/a.json", None);
    assert_eq!((choosing(&copy, "/year > 2000").exit_code(), held(&copy)), (0, vec!["a.txt"]));
}

#[test]
fn o454_a_record_that_is_too_large_leaves_its_resource_owed() {
    let copy = described();
    let text = "x".repeat(5 << 20);
    copy.source.serve("about/a.json", format!("{{\"year\": 2021, \"text\": \"{text}\"}}"));
    let run = choosing(&copy, "/year > 2000");
    assert_eq!((run.exit_code(), run.report().owed, held(&copy)), (3, 1, vec![]), "{:?}", run.heard);
}

#[test]
fn o1113_a_record_that_is_compressed_unasked_leaves_its_resource_owed() {
    let copy = described();
    let record = Page::from("compressed").with_header("Content-Encoding", "gzip");
    copy.source.serve("about/a.json", record);
    let run = choosing(&copy, "/year > 2000");
    assert_eq!((run.exit_code(), run.report().owed, held(&copy)), (3, 1, vec![]), "{:?}", run.heard);
}

#[test]
fn what_is_no_condition_is_exit_2() {
    let copy = described();
    assert_eq!(choosing(&copy, "what is this").exit_code(), 2);
    assert_eq!(copy.source.connections(), 0);
}

#[test]
fn the_preferred_representation_is_taken_where_there_is_one() {
    let copy = Copy::of_three();
    copy.source.serve("a.pdf", Page::from("%PDF").with_header("Content-Type", "application/pdf"));
    copy.source.serve("a.ps", "%!PS");
    let targets = [("a.ps", "application/postscript"), ("a.pdf", "application/pdf")];
    let links: Vec<_> =
        targets.map(|(path, kind)| (Uri::parse(&copy.source.url(path)).unwrap(), kind)).into();
    copy.source.misstate("a.txt", move |entry| {
        for (target, kind) in &links {
            let mut link = Link::new(Relation::Alternate, target.clone());
            link.media_type = Some(MediaType::new(kind));
            entry.links.push(link);
        }
    });
    let run = copy.sync_with(|options| {
        options.selection.prefer_types = vec!["application/pdf".to_owned(), "text/plain".to_owned()];
    });
    assert_eq!((run.exit_code(), copy.read("a.pdf").as_deref()), (0, Some("%PDF")), "{:?}", run.heard);
    assert_eq!(
        (copy.read("a.txt"), copy.read("a.ps"), copy.read("b.txt").as_deref()),
        (None, None, Some("two"))
    );
}

#[test]
fn d31_a_login_page_for_everything_stops_the_run_and_replaces_nothing() {
    let copy = Copy::of(FakeSource::start().with_resources(many(400)));
    copy.sync();
    for (path, text) in many(400) {
        copy.source.put(&path, format!("newer {text}"));
        copy.source.serve(&path, Page::from("<html>Log in!</html>").with_header("Content-Type", "text/html"));
    }
    copy.source.forget_requests();
    let run = copy.sync();
    assert_eq!(run.exit_code(), 3);
    assert!(run.heard.problems.iter().any(|problem| format!("{problem:?}").contains("login page")));
    let asked = copy.source.tally().keys().filter(|path| path.starts_with("n/")).count();
    assert!(asked < 300, "{asked} of 400 were asked for");
    assert!(many(400).iter().all(|(path, text)| copy.read(path).as_ref() == Some(text)));
}

#[test]
fn o480_a_login_page_of_more_than_256_kib_is_recognised_too() {
    let copy = Copy::of(FakeSource::start().with_resources(many(100)));
    let page = "<p>Log in!</p>".repeat(30_000);
    for (path, _) in many(100) {
        copy.source.serve(&path, Page::from(page.as_str()).with_header("Content-Type", "text/html"));
    }
    let run = copy.sync();
    let problems = run.heard.problems.iter().map(|problem| format!("{problem:?}")).collect::<Vec<_>>();
    assert!(problems.iter().any(|problem| problem.contains("login page")), "{:?}", problems.first());
}

#[test]
fn d31_a_page_is_no_resource_of_another_type() {
    let copy = Copy::laid_out(|layout| {
        layout.algorithms.clear();
        layout.length = false;
    });
    copy.source.serve("a.txt", Page::from("<html>Log in!</html>").with_header("Content-Type", "text/html"));
    let run = copy.sync();
    assert_eq!((run.exit_code(), copy.read("a.txt"), copy.read("b.txt").as_deref()), (3, None, Some("two")));
}

#[test]
fn o57_a_limit_counts_what_each_set_holds_once() {
    let names = ["a", "b", "c", "d", "e", "f"].map(|name| (format!("{name}.txt"), name));
    let copy = Copy::of(FakeSource::start().with_resources(names));
    let description = ["one.xml", "two.xml"].map(|set| (set, "<rs:md capability='capabilitylist'/>"));
    copy.source.serve(".well-known/resourcesync", document(&copy.source, "description", "", &description));
    for (set, list, capability) in [("one", "list", "resourcelist"), ("two", "changes", "changelist")] {
        let (list, metadata) = (format!("{list}.xml"), format!("<rs:md capability='{capability}'/>"));
        let entries = [(list.as_str(), metadata.as_str())];
        copy.source.serve(&format!("{set}.xml"), document(&copy.source, "capabilitylist", "", &entries));
    }
    let entries = ["a.txt", "b.txt"].map(|path| (path, ""));
    copy.source
        .serve("list.xml", document(&copy.source, "resourcelist", "at='2026-01-02T00:00:00Z'", &entries));
    let change = "<rs:md change='created' datetime='2026-01-02T00:00:00Z'/>";
    let entries = ["c.txt", "d.txt", "e.txt", "f.txt"].map(|path| (path, change));
    copy.source
        .serve("changes.xml", document(&copy.source, "changelist", "from='2026-01-01T00:00:00Z'", &entries));
    let run = copy.sync_with(|options| options.selection.limit = Some(4));
    assert_eq!((run.exit_code(), run.report().created), (0, 4), "{:?}", run.heard);
}

#[test]
fn o58_a_dry_run_and_an_audit_count_a_limit_over_all_sets_as_a_run_does() {
    let names = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| (name, name));
    let copy = Copy::of(FakeSource::start().with_resources(names));
    publish(&copy.source, 0, [&["a.txt", "b.txt"], &["c.txt", "d.txt"]]);
    let limited = |options: &mut SyncOptions| options.selection.limit = Some(3);
    let dry = copy.sync_with(|options| {
        limited(options);
        options.dry_run = true;
    });
    let run = copy.sync_with(limited);
    assert_eq!((dry.report().created, run.report().created), (3, 3), "{:?}", run.heard);
    let (audit, heard) = copy.audit_with(|options| options.selection.limit = Some(3));
    let audit = audit.unwrap();
    assert_eq!((audit.exit_code(), audit.missing, audit.same), (0, 0, 3), "{heard:?}");
}

#[test]
fn o61_a_limit_holds_when_the_complete_copy_is_compared_again() {
    let copy = copy_with_changes([("b.txt", 1), ("c.txt", 1)]);
    // A list that is published anew with the same content is compared again.
    hold_to_two(&copy, "at", 3);
}

#[test]
fn o285_a_limit_holds_if_the_changes_before_are_not_read_again() {
    // Without a time of the list, the changes since the checkpoint are read: those of the first resource are over.
    let copy = copy_with_changes([("b.txt", 1), ("c.txt", 2)]);
    hold_to_two(&copy, "completed", 2);
}

#[test]
fn o353_a_limit_holds_for_a_resource_that_lists_create_and_delete() {
    const CREATED: (&str, &str) = ("b.txt", "<rs:md change='created' datetime='2026-01-02T00:00:01Z'/>");
    const DELETED: (&str, &str) = ("b.txt", "<rs:md change='deleted' datetime='2026-01-02T00:00:01Z'/>");
    let of_second_3 = |(path, md): (&'static str, &str)| (path, md.replace(":01Z", ":03Z"));
    let other = ("c.txt", CREATED.1);
    // An addition that the next list takes back makes room. One after a deletion needs some.
    for (first, second) in [(vec![CREATED], vec![DELETED, other]), (vec![DELETED, other], vec![CREATED])] {
        let copy = copy_with_changes([("b.txt", 1), ("c.txt", 1)]);
        let second: Vec<_> = second.into_iter().map(of_second_3).collect();
        let second: Vec<_> = second.iter().map(|(path, md)| (*path, md.as_str())).collect();
        let times =
            ["from='2026-01-02T00:00:00Z' until='2026-01-02T00:00:02Z'", "from='2026-01-02T00:00:02Z'"];
        copy.source.serve("1.xml", document(&copy.source, "changelist", times[0], &first));
        copy.source.serve("2.xml", document(&copy.source, "changelist", times[1], &second));
        let members = times.map(|times| format!("<rs:md {times}/>"));
        let members = [("1.xml", members[0].as_str()), ("2.xml", members[1].as_str())];
        let index = document(&copy.source, "changelist", "from='2026-01-02T00:00:00Z'", &members);
        let index = index.replace("urlset", "sitemapindex").replace("url>", "sitemap>");
        copy.source.serve("changelist.xml", index);
        let at = "at='2026-01-02T00:00:00Z'";
        copy.source.serve("resourcelist.xml", document(&copy.source, "resourcelist", at, &[("a.txt", "")]));
        let run = copy.sync_with(|options| options.selection.limit = Some(2));
        let held = ["a.txt", "b.txt", "c.txt"].map(|path| copy.read(path).is_some());
        assert_eq!((run.exit_code(), held), (0, [true, false, true]), "{:?}", run.heard);
    }
}

#[test]
fn o483_what_is_known_to_be_deleted_takes_no_room_of_a_limit_although_an_inventory_lists_it() {
    let copy = copy_with_changes([("b.txt", 1), ("c.txt", 2)]);
    let serve = |capability: &str, metadata: &str, entries: &[(&str, &str)]| {
        copy.source
            .serve(&format!("{capability}.xml"), document(&copy.source, capability, metadata, entries));
    };
    serve("resourcelist", "at='2026-01-02T00:00:00Z'", &[("a.txt", ""), ("b.txt", "")]);
    let deleted = ("b.txt", "<rs:md change='deleted' datetime='2026-01-02T00:00:01Z'/>");
    let created = ("c.txt", "<rs:md change='created' datetime='2026-01-02T00:00:02Z'/>");
    for (changes, comes, goes) in [(vec![], 2, 0), (vec![deleted], 0, 1), (vec![deleted, created], 1, 0)] {
        serve("changelist", "from='2026-01-02T00:00:00Z'", &changes);
        let run = copy.sync_with(|options| {
            (options.selection.limit, options.delete, options.repair) = (Some(2), true, true);
        });
        let report = run.report();
        assert_eq!((run.exit_code(), report.created, report.deleted), (0, comes, goes), "{:?}", run.heard);
    }
}

/// Returns a copy of a Source with a list of `a.txt`, and changes of two others, each in a second.
fn copy_with_changes(changes: [(&str, u32); 2]) -> Copy {
    let names = ["a.txt", "b.txt", "c.txt"].map(|name| (name, name));
    let copy = Copy::of(FakeSource::start().with_resources(names));
    let description = [("one.xml", "<rs:md capability='capabilitylist'/>")];
    copy.source.serve(".well-known/resourcesync", document(&copy.source, "description", "", &description));
    let offers = ["resourcelist", "changelist"]
        .map(|capability| (format!("{capability}.xml"), format!("<rs:md capability='{capability}'/>")));
    let offers: Vec<_> = offers.iter().map(|(path, metadata)| (path.as_str(), metadata.as_str())).collect();
    copy.source.serve("one.xml", document(&copy.source, "capabilitylist", "", &offers));
    let changes = changes.map(|(path, second)| {
        (path, format!("<rs:md change='created' datetime='2026-01-02T00:00:0{second}Z'/>"))
    });
    let changes: Vec<_> = changes.iter().map(|(path, metadata)| (*path, metadata.as_str())).collect();
    let from = "from='2026-01-02T00:00:00Z'";
    copy.source.serve("changelist.xml", document(&copy.source, "changelist", from, &changes));
    copy
}

/// Publishes lists with an attribute, and allows two resources. A third one without a time would tell what is gone.
fn hold_to_two(copy: &Copy, attribute: &str, times: usize) {
    for (second, created) in [(0, 2), (1, 0), (2, 0)].into_iter().take(times) {
        let at = format!("{attribute}='2026-01-02T00:00:0{second}Z'");
        copy.source.serve("resourcelist.xml", document(&copy.source, "resourcelist", &at, &[("a.txt", "")]));
        let run = copy.sync_with(|options| {
            options.selection.limit = Some(2);
            options.via = Via::List;
        });
        assert_eq!((run.exit_code(), run.report().created), (0, created), "{second}: {:?}", run.heard);
    }
}
