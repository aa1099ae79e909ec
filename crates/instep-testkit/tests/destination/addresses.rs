//! URLs that lead to a Source, also after it has changed.

use instep_testkit::{FakeSource, Fault, Layout};
use resourcesync::{Entry, Uri};

use crate::support::{Copy, SPACES};

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
