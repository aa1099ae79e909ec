//! Notifications at a Destination over WebSockets: Framework Notifications (FN-7), and changes.

use futures_util::SinkExt as _;
use instep_destination::{Credential, Outcome, Secret, sync};
use instep_testkit::{FakeSource, Fault, Layout};
use tokio_tungstenite::tungstenite::{
    Message,
    handshake::server::{Request, Response},
};

use super::{
    destination::payload,
    support::{Following, notification, runtime, topical, topical_at},
};

/// A channel that sends the messages of the test.
pub(crate) struct Channel {
    address: String,
    say: tokio::sync::mpsc::Sender<String>,
    /// The credentials with which each client opened it.
    pub(crate) opened: tokio::sync::mpsc::Receiver<String>,
    _runtime: tokio::runtime::Runtime,
}

impl Channel {
    pub(crate) fn open() -> Self {
        let runtime = runtime();
        let server = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = server.local_addr().unwrap().to_string();
        let (say, mut said) = tokio::sync::mpsc::channel::<String>(16);
        let (open, opened) = tokio::sync::mpsc::channel(16);
        runtime.spawn(async move {
            while let Ok((stream, _)) = server.accept().await {
                let mut credentials = String::new();
                #[expect(clippy::result_large_err, reason = "the library has this type")]
                let read = |request: &Request, response: Response| {
                    let given = request.headers().get("authorization").and_then(|given| given.to_str().ok());
                    given.unwrap_or_default().clone_into(&mut credentials);
                    Ok(response)
                };
                let accepted = tokio_tungstenite::accept_hdr_async(stream, read).await;
                let Ok(mut channel) = accepted else { continue };
                open.send(credentials).await.unwrap();
                while let Some(text) = said.recv().await {
                    if text.is_empty() || channel.send(Message::text(text)).await.is_err() {
                        break;
                    }
                }
            }
        });
        Self { address, say, opened, _runtime: runtime }
    }

    pub(crate) fn socket(&self) -> String {
        format!("ws://{}/", self.address)
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    fn say(&self, text: String) {
        self.say.blocking_send(text).unwrap();
    }

    /// Closes the connection.
    fn close(&self) {
        self.say(String::new());
    }
}

fn framework(source: &FakeSource, uri: &str, capability: &str, change: &str) -> String {
    let now = source.clock().now();
    let entry = format!(
        "<url><loc>{uri}</loc><rs:md capability=\"{capability}\" change=\"{change}\" datetime=\"{now}\"/></url>"
    );
    notification(source, "<rs:md capability=\"framework-notification\"/>", &entry)
}

#[test]
fn fn_7_a_new_resource_list_is_read() {
    let mut channel = Channel::open();
    let source = topical(None, &[("framework", &channel.socket())]);
    source.lay_out(|layout| layout.change_list = false);
    let following = Following::of(&source, &[&channel.origin()]);
    let _ = following.during(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("resourcelist.xml", 2);
        source.put("a.txt", "changed");
        channel.say(framework(&source, &source.resource_list_url(), "resourcelist", "created"));
        source.wait_for("a.txt", 2);
    });
}

#[test]
fn fn_2_a_withdrawn_capability_list_ends_following_and_deletes_nothing() {
    let mut channel = Channel::open();
    let source = topical(None, &[("framework", &channel.socket())]);
    let following = Following::of(&source, &[&channel.origin()]);
    let report = following.to_its_end(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("changelist-000001.xml", 2);
        let list = source.capability_list_url();
        // A message that the Source Description does not confirm changes nothing.
        let looks = source.requests_for("capabilitylist.xml");
        channel.say(framework(&source, &list, "capabilitylist", "deleted"));
        source.wait_for("capabilitylist.xml", looks + 1);
        source.rewrite(".well-known/resourcesync", |text| {
            let (head, rest) = text.split_once("<url>").unwrap();
            let tail = rest.rsplit_once("</url>").unwrap().1;
            format!("{head}{tail}")
        });
        channel.say(framework(&source, &list, "capabilitylist", "deleted"));
    });
    assert_eq!((report.outcome, report.deleted), (Outcome::Complete, 0));
    assert!(following.heard().notes.iter().any(|note| note.contains("is withdrawn")));
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert!(following.copy().join(name).is_file(), "{name}");
    }
}

#[test]
fn o1077_a_set_whose_entry_cannot_be_used_is_not_taken_for_withdrawn() {
    let mut channel = Channel::open();
    let source = topical(None, &[("framework", &channel.socket())]);
    let following = Following::of(&source, &[&channel.origin()]);
    let report = following.during(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("changelist-000001.xml", 2);
        let list = source.capability_list_url();
        let description = ".well-known/resourcesync";
        let entry = format!("<loc>{list}</loc>");
        source.rewrite(description, move |text| text.replace(&entry, "<loc>http://[</loc>"));
        let before = source.requests_for(description);
        channel.say(framework(&source, &list, "capabilitylist", "deleted"));
        // The first request is for the answer to the message, and the second one for a look at the Source.
        source.wait_for(description, before + 2);
    });
    let heard = following.heard();
    assert_eq!(report.outcome, Outcome::Interrupted, "{heard:?}");
    assert!(!heard.notes.iter().any(|note| note.contains("is withdrawn")), "{heard:?}");
}

#[test]
fn o498_a_channel_is_opened_with_the_credentials_of_its_own_origin() {
    for (is_its_own, sent) in [(true, "Bearer secret"), (false, "")] {
        let mut channel = Channel::open();
        let source = topical(None, &[("change", &channel.socket())]);
        let mut following = Following::of(&source, &[&channel.origin()]);
        let (origin, token) = (is_its_own.then(|| channel.origin()), Secret::new("secret"));
        following.options.access.credentials.push(Credential::Bearer { origin, token });
        let _ = following.during(|| assert_eq!(channel.opened.blocking_recv().unwrap(), sent));
    }
}

#[test]
fn fn_6_a_channel_that_vanished_is_found_in_the_capability_list() {
    let mut channel = Channel::open();
    let source = topical(None, &[("change", &channel.socket())]);
    let following = Following::of(&source, &[&channel.origin()]);
    let _ = following.during(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("changelist-000001.xml", 2);
        let looks = source.requests_for("capabilitylist.xml");
        source.rewrite("capabilitylist.xml", |text| text);
        channel.close();
        source.wait_for("capabilitylist.xml", looks + 1);
    });
}

#[test]
fn w9_a_message_without_end_closes_the_channel_and_leads_to_a_look() {
    let mut channel = Channel::open();
    let source = topical(None, &[("change", &channel.socket())]);
    let following = Following::of(&source, &[&channel.origin()]);
    let _ = following.during(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("changelist-000001.xml", 2);
        source.put("a.txt", "changed");
        channel.say("x".repeat(2 << 20));
        source.wait_for("a.txt", 2);
    });
}

#[test]
fn o402_a_round_that_only_applies_notifications_keeps_versions_too() {
    let mut channel = Channel::open();
    let source = topical(None, &[("change", &channel.socket())]);
    let mut following = Following::of(&source, &[&channel.origin()]);
    following.options.all_versions = true;
    let report = following.during(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("changelist-000001.xml", 2);
        for (number, text) in ["first", "second"].into_iter().enumerate() {
            let before = source.clock().now();
            source.put("a.txt", text);
            channel.say(payload(&source, before, &[("a.txt", "updated")]));
            let is_update = |line: &&String| line.starts_with('~');
            following.wait_until(|heard| heard.committed.iter().filter(is_update).count() == number + 1);
            // From now on no list can be read: there are only notifications.
            source.fail_always("changelist.xml", Fault::Status(500));
            source.fail_always("changelist-000001.xml", Fault::Status(500));
        }
    });
    assert_eq!(report.versions, 2);
    let kept = std::fs::read_dir(following.copy().join(".instep/versions/a.txt")).unwrap();
    let read = |entry: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(entry.unwrap().path());
    let mut kept: Vec<_> = kept.map(|entry| read(entry).unwrap()).collect();
    kept.sort();
    assert_eq!(kept, ["first", "one"]);
}

#[test]
fn o948_a_notification_deletes_nothing_that_another_set_lists() {
    let mut channel = Channel::open();
    let source = topical(None, &[("change", &channel.socket())]);
    let url = |path: &str, metadata: &str| format!("<url><loc>{}</loc>{metadata}</url>", source.url(path));
    let document = |metadata: &str, entries: &str| {
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md {metadata}/>{entries}</urlset>"
        )
    };
    let list_two = |second: u32, paths: &[&str]| {
        let entry = |path: &&str| url(path, "<lastmod>2026-01-01T00:00:02Z</lastmod>");
        let entries: String = paths.iter().map(entry).collect();
        let metadata = format!("capability=\"resourcelist\" at=\"2026-01-01T00:00:{second:02}Z\"");
        source.serve("two-list.xml", document(&metadata, &entries));
    };
    let two = url("two.xml", "<rs:md capability=\"capabilitylist\"/>");
    source.rewrite(".well-known/resourcesync", move |text| {
        text.replace("</urlset>", &format!("{two}</urlset>"))
    });
    let list = url("two-list.xml", "<rs:md capability=\"resourcelist\"/>");
    source.serve("two.xml", document("capability=\"capabilitylist\"", &list));
    source.serve("own.txt", "of two");
    list_two(5, &["own.txt"]);
    let following = Following::of(&source, &[&channel.origin()]);
    let _ = following.during(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("changelist-000001.xml", 2);
        let before = source.clock().now();
        source.put("a.txt", "told");
        channel.say(payload(&source, before, &[("a.txt", "updated")]));
        following.wait_until(|heard| heard.committed.iter().any(|line| line.starts_with('~')));

        let before = source.clock().now();
        source.delete("b.txt");
        source.serve("b.txt", "two");
        list_two(6, &["own.txt", "b.txt"]);
        let looks = source.requests_for("two-list.xml");
        channel.say(payload(&source, before, &[("b.txt", "deleted")]));
        source.wait_for("two-list.xml", looks + 1);
    });
    let mut again = following.options.clone();
    (again.follow, again.shutdown) = (false, Default::default());
    let report = runtime().block_on(sync(&again, &following.monitor)).unwrap();
    let heard = following.heard();
    assert!(!heard.committed.iter().any(|line| line.starts_with('-')), "{heard:?}");
    let held = std::fs::read_to_string(following.copy().join("b.txt")).unwrap();
    assert_eq!((report.exit_code(), held.as_str()), (0, "two"), "{heard:?}");
}

#[test]
fn o925_a_list_that_notifications_have_passed_does_not_count_as_an_older_one() {
    let mut channel = Channel::open();
    let mut layout = Layout::new();
    layout.change_list = false;
    let source = topical_at(FakeSource::start_with(layout), None, &[("change", &channel.socket())]);
    let following = Following::of(&source, &[&channel.origin()]);
    let _ = following.during(|| {
        channel.opened.blocking_recv().unwrap();
        source.wait_for("resourcelist.xml", 2);
        source.freeze(&["resourcelist.xml"]);
        let before = source.clock().now();
        source.put("a.txt", "told");
        channel.say(payload(&source, before, &[("a.txt", "updated")]));
        following.wait_until(|heard| heard.committed.iter().any(|line| line.starts_with('~')));
    });
    let mut again = following.options.clone();
    (again.follow, again.shutdown) = (false, Default::default());
    let report = runtime().block_on(sync(&again, &following.monitor)).unwrap();
    let held = std::fs::read_to_string(following.copy().join("a.txt")).unwrap();
    assert_eq!((report.exit_code(), held.as_str()), (0, "told"));
}
