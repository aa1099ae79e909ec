//! A Destination that subscribes to a hub of another implementation.

use std::{process::Command, time::Duration};

use instep_destination::{Outcome, RecordedEvents};
use instep_testkit::{FakeSource, Fault, Layout, Run, compare, peers};
use resourcesync::{DateTime, Link, Relation, Uri};

use super::support::{Following, Peer, TOPIC, notification, topical, topical_at};

/// Publishes at the hub as a Source does (CN-9).
pub(crate) fn publish(hub: &str, topic: &str, body: &str) {
    let [curl] = peers::find(["curl"]).unwrap();
    let links = format!("Link: <{topic}>; rel=\"self\", <{hub}>; rel=\"hub\"");
    let mut command = Command::new(curl);
    command.args(["-sf", "-H", "Content-Type: application/xml", "-H", &links, "--data-binary", body, hub]);
    let _ = Run::of(&mut command).with_code(0);
}

fn assert_equal(source: &FakeSource, following: &Following) {
    let truth = tempfile::tempdir().unwrap();
    source.write_to(truth.path()).unwrap();
    assert_eq!(compare(truth.path(), &following.copy()), [""; 0]);
}

#[test]
fn an_independent_hub_brings_each_change_until_it_is_unsubscribed() {
    let Some((hub, url)) = Peer::hub(&[]) else { return };
    let source = topical(Some(&url), &[]);
    let following = Following::of(&source, &[&url]).with_callbacks();
    let report = following.during(|| {
        let subscribed = hub.next("subscribe");
        assert_eq!(subscribed["topic"], source.url(TOPIC));
        // The run that follows a subscription has ended: later changes arrive by the hub.
        following.wait_until(|heard| heard.notes.iter().any(|note| note.starts_with("subscribed to")));
        source.wait_for("changelist-000001.xml", 2);
        source.put("a.txt", "changed");
        source.delete("b.txt");
        publish(&url, &source.url(TOPIC), "<whatever>it is a hint</whatever>");
        assert_eq!(hub.next("delivered")["status"], 202);
        source.wait_for("a.txt", 2);
    });
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert_eq!(hub.next("unsubscribe")["topic"], source.url(TOPIC), "CN-19");
    let mut again = following.options.clone();
    (again.follow, again.shutdown) = (false, Default::default());
    super::support::runtime().block_on(instep_destination::sync(&again, &following.monitor)).unwrap();
    assert_equal(&source, &following);
}

/// Returns a notification about changes at one time.
pub(crate) fn payload(source: &FakeSource, from: DateTime, changes: &[(&str, &str)]) -> String {
    let until = source.clock().now();
    let root = format!("<rs:md capability=\"change-notification\" from=\"{from}\" until=\"{until}\"/>");
    let entry = |(path, change): &(&str, &str)| {
        let loc = source.url(path);
        format!("<url><loc>{loc}</loc><rs:md change=\"{change}\" datetime=\"{until}\"/></url>")
    };
    notification(source, &root, &changes.iter().map(entry).collect::<String>())
}

#[test]
fn w5_a_payload_that_continues_what_is_held_is_applied_once_without_reading_a_list() {
    let Some((hub, url)) = Peer::hub(&["--times", "3"]) else { return };
    let source = topical(Some(&url), &[]);
    let following = Following::of(&source, &[&url]).with_callbacks();
    let _ = following.during(|| {
        hub.next("subscribe");
        source.wait_for("changelist-000001.xml", 2);
        let before = source.clock().now();
        source.put("a.txt", "first");
        publish(&url, &source.url(TOPIC), &payload(&source, before, &[("a.txt", "updated")]));
        // Now the run that followed the subscription has ended.
        following.wait_until(|heard| heard.committed.iter().any(|line| line.starts_with("~")));
        source.fail_always("changelist.xml", Fault::Status(500));
        source.fail_always("changelist-000001.xml", Fault::Status(500));

        let before = source.clock().now();
        source.put("a.txt", "second");
        source.delete("b.txt");
        let body = payload(&source, before, &[("a.txt", "updated"), ("b.txt", "deleted")]);
        publish(&url, &source.url(TOPIC), &body);
        following.wait_until(|heard| heard.committed.iter().any(|line| line.starts_with("-")));
        (0..6).for_each(|_| assert_eq!(hub.next("delivered")["status"], 202));
    });
    assert_equal(&source, &following);
    let updates = following.heard().committed.iter().filter(|line| line.starts_with("~")).count();
    assert_eq!((updates, source.requests_for("a.txt")), (2, 3));
}

#[test]
fn o657_what_a_payload_names_is_chosen_by_its_metadata_record() {
    let Some((hub, url)) = Peer::hub(&["--times", "3"]) else { return };
    let source = topical(Some(&url), &[]);
    for (path, record, year) in [("a.txt", "new.json", 2021), ("b.txt", "old.json", 1915)] {
        source.serve(record, format!("{{\"year\": {year}}}"));
        let record = Uri::parse(&source.url(record)).unwrap();
        source
            .misstate(path, move |entry| entry.links.push(Link::new(Relation::DescribedBy, record.clone())));
    }
    let told = |from: DateTime, changes: &[(&str, &str)]| {
        let until = source.clock().now();
        let root = format!("<rs:md capability=\"change-notification\" from=\"{from}\" until=\"{until}\"/>");
        let entry = |(path, record): &(&str, &str)| {
            let link = format!("<rs:ln rel=\"describedby\" href=\"{}\"/>", source.url(record));
            let change = format!("<rs:md change=\"updated\" datetime=\"{until}\"/>");
            format!("<url><loc>{}</loc>{change}{link}</url>", source.url(path))
        };
        notification(&source, &root, &changes.iter().map(entry).collect::<String>())
    };
    let mut following = Following::of(&source, &[&url]).with_callbacks();
    following.options.selection.where_metadata = Some("/year > 2000".to_owned());
    let updates =
        |heard: &RecordedEvents| heard.committed.iter().filter(|line| line.starts_with('~')).count();
    let _ = following.during(|| {
        hub.next("subscribe");
        source.wait_for("changelist-000001.xml", 2);
        let before = source.clock().now();
        source.put("a.txt", "first");
        publish(&url, &source.url(TOPIC), &told(before, &[("a.txt", "new.json")]));
        // Now the run that followed the subscription has ended.
        following.wait_until(|heard| updates(heard) == 1);
        source.fail_always("changelist.xml", Fault::Status(500));
        source.fail_always("changelist-000001.xml", Fault::Status(500));

        let before = source.clock().now();
        source.put("b.txt", "not selected");
        source.put("a.txt", "second");
        publish(&url, &source.url(TOPIC), &told(before, &[("b.txt", "old.json"), ("a.txt", "new.json")]));
        following.wait_until(|heard| updates(heard) == 2);
    });
    assert_eq!(source.requests_for("b.txt"), 0, "{:?}", following.heard());
}

#[test]
fn w5_payloads_in_the_wrong_order_and_a_hundred_times_have_one_effect() {
    let Some((hub, url)) = Peer::hub(&["--times", "100"]) else { return };
    let source = topical(Some(&url), &[]);
    let following = Following::of(&source, &[&url]).with_callbacks();
    let _ = following.during(|| {
        hub.next("subscribe");
        source.wait_for("changelist-000001.xml", 2);
        let before = source.clock().now();
        source.put("a.txt", "first");
        let first = payload(&source, before, &[("a.txt", "updated")]);
        let between = source.clock().now();
        source.put("a.txt", "second");
        source.delete("b.txt");
        let second = payload(&source, between, &[("a.txt", "updated"), ("b.txt", "deleted")]);
        publish(&url, &source.url(TOPIC), &second);
        publish(&url, &source.url(TOPIC), &first);
        (0..200).for_each(|_| assert_eq!(hub.next("delivered")["status"], 202));
        following.wait_until(|heard| heard.committed.iter().any(|line| line.starts_with("-")));
    });
    assert_equal(&source, &following);
    let committed = following.heard().committed;
    for change in ["~", "-"] {
        assert_eq!(committed.iter().filter(|line| line.starts_with(change)).count(), 1, "{committed:?}");
    }
}

#[test]
fn w5_a_payload_after_a_gap_leads_to_the_change_list() {
    let Some((hub, url)) = Peer::hub(&[]) else { return };
    let source = topical(Some(&url), &[]);
    let following = Following::of(&source, &[&url]).with_callbacks();
    let _ = following.during(|| {
        hub.next("subscribe");
        source.wait_for("changelist-000001.xml", 2);
        // A notification that is never sent.
        source.put("a.txt", "missed");
        let before = source.clock().now();
        source.put("b.txt", "told");
        publish(&url, &source.url(TOPIC), &payload(&source, before, &[("b.txt", "updated")]));
        source.wait_for("a.txt", 2);
        source.wait_for("b.txt", 2);
    });
}

#[test]
fn o264_changes_of_a_payload_that_no_list_has_yet_are_applied_and_pass_nothing_over() {
    for change_list in [true, false] {
        let Some((hub, url)) = Peer::hub(&[]) else { return };
        let mut layout = Layout::new();
        layout.change_list = change_list;
        let source = topical_at(FakeSource::start_with(layout), Some(&url), &[]);
        let lists: &[&str] =
            if change_list { &["changelist-000001.xml", "changelist.xml"] } else { &["resourcelist.xml"] };
        let following = Following::of(&source, &[&url]).with_callbacks();
        let without_interval = |changes: &[(&str, &str)]| {
            payload(&source, source.clock().now(), changes).replace(" from=", " x=")
        };
        let _ = following.during(|| {
            hub.next("subscribe");
            following.wait_until(|heard| heard.notes.iter().any(|note| note.starts_with("subscribed to")));
            source.wait_for(lists[0], 2);
            source.freeze(lists);
            source.put("a.txt", "told");
            source.delete("b.txt");
            let late = without_interval(&[("a.txt", "updated"), ("b.txt", "deleted")]);
            publish(&url, &source.url(TOPIC), &late);
            following.wait_until(|heard| heard.committed.iter().any(|line| line.starts_with("-")));
            assert_equal(&source, &following);
            // Again, after a later one.
            source.put("a.txt", "told later");
            publish(&url, &source.url(TOPIC), &without_interval(&[("a.txt", "updated")]));
            source.wait_for("a.txt", 3);
            publish(&url, &source.url(TOPIC), &late);
            source.wait_for(lists[0], 5);
        });
        assert_equal(&source, &following);
        assert_eq!(source.requests_for("a.txt"), 3);
    }
}

#[test]
fn w2_what_another_signs_has_no_effect() {
    let Some((hub, url)) = Peer::hub(&["--forge"]) else { return };
    let source = topical(Some(&url), &[]);
    let following = Following::of(&source, &[&url]).with_callbacks();
    let _ = following.during(|| {
        hub.next("subscribe");
        following.wait_until(|heard| heard.notes.iter().any(|note| note.starts_with("subscribed to")));
        source.wait_for("changelist-000001.xml", 2);
        for _ in 0..3 {
            publish(&url, &source.url(TOPIC), "a hint");
            assert_eq!(hub.next("delivered")["status"], 202, "a forger learns nothing");
        }
    });
    assert_eq!(source.requests_for("changelist-000001.xml"), 2);
}

#[test]
fn a_hub_of_the_time_before_websub_is_served_too() {
    let Some((hub, url)) = Peer::hub(&["--old", "--algorithm", "sha1"]) else { return };
    let source = topical(Some(&url), &[]);
    let mut following = Following::of(&source, &[&url]).with_callbacks();
    following.options.callbacks.iter_mut().for_each(|callbacks| callbacks.sha1 = true);
    let _ = following.during(|| {
        assert_eq!(hub.next("subscribe")["lease"], serde_json::Value::Null);
        following.wait_until(|heard| heard.notes.iter().any(|note| note.starts_with("subscribed to")));
        source.wait_for("changelist-000001.xml", 2);
        source.put("a.txt", "changed");
        publish(&url, &source.url(TOPIC), "a hint");
        source.wait_for("a.txt", 2);
    });
}

#[test]
fn cn_15_a_denied_destination_polls() {
    let Some((hub, url)) = Peer::hub(&["--deny"]) else { return };
    let source = topical(Some(&url), &[]);
    let mut following = Following::of(&source, &[&url]).with_callbacks();
    following.options.poll = (Duration::from_millis(20), Duration::from_millis(100));
    let _ = following.during(|| {
        hub.next("denied");
        following.wait_until(|heard| heard.notes.iter().any(|note| note.contains("denied: not for you")));
        source.put("a.txt", "changed");
        source.wait_for("a.txt", 2);
    });
}

#[test]
fn a_subscription_takes_over_where_no_websocket_can_be_opened() {
    let Some((hub, url)) = Peer::hub(&[]) else { return };
    let nobody = format!("127.0.0.1:{}", instep_testkit::free_port().unwrap());
    let source = topical(Some(&url), &[("change", &format!("ws://{nobody}/"))]);
    let following = Following::of(&source, &[&url, &format!("http://{nobody}")]).with_callbacks();
    let _ = following.during(|| {
        hub.next("subscribe");
        source.wait_for("changelist-000001.xml", 2);
        source.put("a.txt", "changed");
        publish(&url, &source.url(TOPIC), "a hint");
        source.wait_for("a.txt", 2);
    });
}

#[test]
fn a_hub_that_has_moved_is_asked_where_it_is_now_within_the_scope() {
    let moved = |status: u16, url: &str| {
        let source = FakeSource::start();
        source.fail_always("old-hub", Fault::RedirectAs(status, url.to_owned()));
        let old = source.url("old-hub");
        topical_at(source, Some(&old), &[])
    };
    for status in [307, 308] {
        let Some((hub, url)) = Peer::hub(&[]) else { return };
        let source = moved(status, &url);
        let following = Following::of(&source, &[&url]).with_callbacks();
        let _ = following.during(|| assert_eq!(hub.next("subscribe")["topic"], source.url(TOPIC)));
        assert_eq!(hub.next("unsubscribe")["topic"], source.url(TOPIC));
    }
    // Another method asks for something else, and out of the scope nobody is asked.
    let Some((_hub, url)) = Peer::hub(&[]) else { return };
    for (status, allowed) in [(303, vec![url.as_str()]), (308, Vec::new())] {
        let source = moved(status, &url);
        let mut following = Following::of(&source, &allowed).with_callbacks();
        following.options.poll = (Duration::from_millis(20), Duration::from_millis(100));
        let says = |heard: &RecordedEvents, what: &str| heard.notes.iter().any(|note| note.contains(what));
        let _ = following.during(|| {
            following.wait_until(|heard| says(heard, "old-hub refuses") || says(heard, "could not be asked"))
        });
        assert!(!says(&following.heard(), "subscribed to"), "{status}");
    }
}

#[test]
fn w4_w6_a_renewal_at_another_hub_has_another_callback_and_nothing_is_lost() {
    let Some((hub, url)) = Peer::hub(&["--lease", "10"]) else { return };
    let source = topical(Some(&url), &[]);
    let following = Following::of(&source, &[&url]).with_callbacks();
    let _ = following.during(|| {
        let first = hub.next("subscribe");
        let second = hub.next("subscribe");
        assert_ne!(first["callback"], second["callback"]);
        assert_eq!(hub.next("unsubscribe")["callback"], first["callback"]);
        source.put("a.txt", "changed");
        publish(&url, &source.url(TOPIC), "a hint");
        source.wait_for("a.txt", 2);
    });
}

#[test]
fn w4_a_lease_that_is_lost_is_made_up_for_by_polling() {
    let Some((hub, url)) = Peer::hub(&["--lease", "10"]) else { return };
    let source = topical(Some(&url), &[]);
    let mut following = Following::of(&source, &[&url]).with_callbacks();
    following.options.poll = (Duration::from_millis(20), Duration::from_secs(600));
    let _ = following.during(|| {
        hub.next("subscribe");
        source.wait_for("changelist-000001.xml", 2);
        drop(hub);
        source.put("a.txt", "changed");
        source.wait_for("a.txt", 2);
        following.wait_until(|heard| heard.notes.iter().any(|note| note.contains("its lease ran out")));
    });
}
