//! Following a Source.

use std::time::Duration;

use futures_util::SinkExt as _;

use instep_destination::{ChannelWatch, MaxDelete, Outcome, SyncOptions, TestMonitor, status, sync};
use instep_testkit::{FakeSource, Fault};

use crate::support::{Copy, runtime};

#[test]
fn following_stays_in_step_until_it_is_told_to_end() {
    let copy = Copy::of_three();
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.follow = true;
    options.delete = true;
    options.poll = (Duration::from_millis(10), Duration::from_millis(50));
    let end = options.shutdown.clone();
    let monitor = TestMonitor::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    std::thread::scope(|scope| {
        let following = scope.spawn(|| runtime.block_on(sync(&options, &monitor)));
        copy.source.wait_for("d/c.txt", 1);
        copy.source.put("a.txt", "changed");
        copy.source.wait_for("a.txt", 2);
        copy.source.delete("b.txt");
        copy.source.put("e.txt", "created");
        copy.source.wait_for("e.txt", 1);
        end.request();
        let report = following.join().unwrap().unwrap();
        assert_eq!((report.outcome, report.created), (Outcome::Interrupted, 4));
    });
    assert_eq!(copy.sync_with(|options| options.delete = true).exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn each_look_tells_how_it_ended() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync().heard.ended, [0]);
    copy.source.put("b.txt", "never there");
    copy.source.fail_always("b.txt", Fault::Status(404));
    assert_eq!(copy.sync().heard.ended, [3]);
    let frozen = copy.sync_with(|options| options.max_age = Some(Duration::from_secs(1)));
    assert_eq!(frozen.heard.ended, [frozen.exit_code()]);
    let again =
        copy.sync_with(|options| (options.follow, options.max_age) = (true, Some(Duration::from_secs(1))));
    assert_eq!(again.heard.ended.first(), Some(&again.exit_code()));
}

#[test]
fn a_run_that_ended_leaves_the_copy_to_the_next_at_once() {
    let copy = Copy::of_three();
    copy.source.fail_always("c.txt", Fault::Stall(1));
    for round in 0..20 {
        copy.source.put("a.txt", format!("round {round}"));
        assert_eq!(copy.sync().exit_code(), 0, "round {round}");
    }
}

#[test]
fn a_status_tells_what_is_held_and_owed() {
    let copy = Copy::of_three();
    copy.source.fail_always("b.txt", Fault::Status(404));
    copy.sync();
    let status = status(&copy.dir()).unwrap();
    assert_eq!((status.held, status.bytes, status.owed), (2, 8, 1));
    assert_eq!(status.problems.get("missing"), Some(&1));
    assert!(status.checkpoint.is_some() && status.last_run.is_some() && !status.running);
    assert_eq!(status.url, Some(copy.source.url("")));
    assert_eq!(status.last_exit_code, Some(3));
    let (number, first) = &status.last_problems["missing"];
    assert!(*number == 1 && first.contains("404"), "{number} {first}");
    assert!(status.free.is_some_and(|free| free > 0));
    let reached = status.checkpoint.unwrap();
    let later = resourcesync::DateTime::from_unix_micros(reached.unix_micros() + 90_000_000);
    assert_eq!(status.lag(later), Some(Duration::from_secs(90)));
}

#[test]
fn a_spent_budget_leaves_the_rest_for_the_next_run() {
    let copy = Copy::of_three();
    let run = copy.sync_with(|options| {
        options.max_transfer = Some(1);
        options.access.transfers = 1;
    });
    assert_eq!((run.exit_code(), run.report().outcome), (9, Outcome::BudgetSpent));
    assert!(run.report().created >= 1);
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o591_what_a_failed_round_transferred_counts_for_the_budget_and_the_summary() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    copy.source.delete("b.txt");
    copy.source.put("large.txt", "x".repeat(1_000));
    let began = std::time::Instant::now();
    let run = copy.sync_with(|options| {
        (options.follow, options.delete, options.max_delete) = (true, true, MaxDelete::Count(1));
        options.poll = (Duration::from_millis(10), Duration::from_millis(50));
        (options.max_transfer, options.max_duration) = (Some(500), Some(Duration::from_secs(20)));
    });
    assert_eq!((run.exit_code(), run.report().created), (9, 1), "{:?}", run.heard);
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_message_on_a_channel_leads_to_a_look_at_the_change_list() {
    let copy = Copy::of_three();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = server.local_addr().unwrap();
    let (say, mut said) = tokio::sync::mpsc::channel::<()>(1);
    let (opened, mut open) = tokio::sync::mpsc::channel::<()>(1);
    runtime.spawn(async move {
        let (stream, _) = server.accept().await.unwrap();
        let mut channel = tokio_tungstenite::accept_async(stream).await.unwrap();
        opened.send(()).await.unwrap();
        while said.recv().await.is_some() {
            let message = tokio_tungstenite::tungstenite::Message::text("whatever it says, it is a hint");
            channel.send(message).await.unwrap();
        }
    });
    let channel =
        format!("<url><loc>ws://{address}/</loc><rs:md capability=\"change-notification\"/></url></urlset>");
    copy.source.rewrite("capabilitylist.xml", move |text| text.replace("</urlset>", &channel));

    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.follow = true;
    options.poll = (Duration::from_secs(600), Duration::from_secs(600));
    options.access.allow_origins.push(format!("http://{address}"));
    let end = options.shutdown.clone();
    let monitor = TestMonitor::new();
    std::thread::scope(|scope| {
        let following = scope.spawn(|| runtime.block_on(sync(&options, &monitor)));
        open.blocking_recv().unwrap();
        copy.source.wait_for("changelist-000001.xml", 2);
        copy.source.put("a.txt", "changed");
        say.blocking_send(()).unwrap();
        copy.source.wait_for("a.txt", 2);
        end.request();
        following.join().unwrap().unwrap();
    });
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

/// Returns a Source whose description names another set, the documents of which are missing.
fn lacking_a_set() -> FakeSource {
    let source = FakeSource::start().with_resources([("a.txt", "a")]);
    let list = format!(
        "<url><loc>{}</loc><rs:md capability=\"capabilitylist\"/></url></urlset>",
        source.url("second.xml")
    );
    source.rewrite(".well-known/resourcesync", move |text| text.replace("</urlset>", &list));
    source
}

/// Returns the entry of a channel, and the end of a Capability List.
fn channel_at(source: &FakeSource, path: &str) -> String {
    format!(
        "<url><loc>ws://{}/{path}</loc><rs:md capability=\"change-notification\"/></url></urlset>",
        source.host()
    )
}

/// Serves the Capability List of the other set, which has a channel.
fn serve_second(source: &FakeSource) {
    let second = format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:ln rel=\"up\" href=\"{}\"/>\
         <rs:md capability=\"capabilitylist\"/>{}",
        source.description_url(),
        channel_at(source, "channel")
    );
    source.serve("second.xml", second);
}

#[test]
fn o749_a_set_whose_documents_did_not_arrive_may_have_channels() {
    let source = lacking_a_set();
    let folder = tempfile::tempdir().unwrap();
    let options = SyncOptions::new(source.url(""), folder.path().join("copy"));
    runtime().block_on(async {
        let mut channels = ChannelWatch::open(&options, folder.path(), None).await.unwrap();
        assert!(channels.is_empty() && channels.is_to_renew());
        serve_second(&source);
        channels.renew(&options, folder.path()).await.unwrap();
        assert!(!channels.is_empty() && !channels.is_to_renew());
    });
}

#[test]
fn o865_channels_of_other_sets_are_found_while_the_documents_of_one_set_do_not_arrive() {
    let source = lacking_a_set();
    let folder = tempfile::tempdir().unwrap();
    let options = SyncOptions::new(source.url(""), folder.path().join("copy"));
    runtime().block_on(async {
        let mut channels = ChannelWatch::open(&options, folder.path(), None).await.unwrap();
        assert!(channels.is_empty());
        let first = channel_at(&source, "first");
        source.rewrite("capabilitylist.xml", move |text| text.replace("</urlset>", &first));
        channels.renew(&options, folder.path()).await.unwrap();
        assert!(!channels.is_empty() && channels.is_to_renew(), "the other set may have one too");

        serve_second(&source);
        channels.renew(&options, folder.path()).await.unwrap();
        source.rewrite("capabilitylist.xml", |text| text);
        source.fail_always("second.xml", Fault::Status(404));
        channels.renew(&options, folder.path()).await.unwrap();
        assert!(!channels.is_empty() && channels.is_to_renew(), "that of the other set stays");
    });
}
