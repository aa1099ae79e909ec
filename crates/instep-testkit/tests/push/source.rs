//! A Source whose channels, hub and announcements are used by programs of other projects.

use std::{fs, process::Command};

use instep_testkit::{Run, Server, free_port, instep, peers};
use resourcesync::{Capability, DocumentReader, ReadOptions};
use tempfile::TempDir;

use super::support::Peer;

const CHANGES: &str = "resourcesync/change-notification";

/// `instep serve` over one file.
struct Serving {
    files: TempDir,
    server: Server,
}

impl Serving {
    fn start(options: &[&str]) -> Self {
        let files = TempDir::new().unwrap();
        fs::write(files.path().join("a.txt"), "a").unwrap();
        let port = free_port().unwrap();
        let mut command = instep(["serve", "--interval", "50ms", "--listen", &format!("127.0.0.1:{port}")]);
        let server = Server::start(command.args(options).arg(files.path()), port).unwrap();
        Self { files, server }
    }

    fn change(&self, text: &str) {
        fs::write(self.files.path().join("a.txt"), text).unwrap();
    }

    fn topic(&self) -> String {
        format!("{}{CHANGES}", self.server.url())
    }
}

fn assert_notification(body: &str) {
    let mut reader = DocumentReader::new(body.as_bytes(), ReadOptions::new()).unwrap();
    assert_eq!(reader.header().capability(), Some(&Capability::ChangeNotification));
    let metadata = reader.header().metadata.clone().unwrap();
    assert!(metadata.from < metadata.until, "{body}");
    let entries: Vec<_> = reader.entries().collect::<Result<_, _>>().unwrap();
    assert!(entries.iter().any(|entry| entry.loc.as_str().ends_with("/a.txt")), "{body}");
}

#[test]
fn an_independent_subscriber_is_served_by_our_hub_and_leaves() {
    let serving = Serving::start(&[]);
    let Some(subscriber) = Peer::start("subscriber.py", &[&serving.topic(), "--leave"]) else { return };
    let confirmed = subscriber.next("confirmed");
    assert_eq!((&confirmed["mode"], &confirmed["lease"]), (&"subscribe".into(), &"864000".into()));
    // Repeats changes until one is announced: the first may come before the subscription is recorded.
    let changing = std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let serving = &serving;
        scope.spawn(move || {
            let mut round = 0;
            while stopped.recv_timeout(std::time::Duration::from_millis(100)).is_err() {
                round += 1;
                serving.change(&format!("round {round}"));
            }
        });
        let told = subscriber.next("delivered");
        let _ = stop.send(());
        told
    });
    assert_eq!((&changing["signed"], &changing["type"]), (&"sha256".into(), &"application/xml".into()));
    assert_eq!((&changing["own"], &changing["hub"]), (&true.into(), &true.into()));
    assert_notification(changing["body"].as_str().unwrap());
    assert_eq!(subscriber.next("confirmed")["mode"], "unsubscribe");
}

#[test]
fn the_websockets_client_hears_the_channel() {
    let serving = Serving::start(&[]);
    let socket = serving.topic().replacen("http", "ws", 1);
    let Some(listener) = Peer::start("listener.py", &[&socket]) else { return };
    listener.next("open");
    serving.change("changed");
    let message = listener.next("message");
    assert_eq!(message["text"], true, "one document a text frame");
    assert_notification(message["body"].as_str().unwrap());
}

#[test]
fn an_independent_hub_is_told_by_our_source() {
    let Some((hub, url)) = Peer::hub(&[]) else { return };
    let serving = Serving::start(&["--no-hub", "--hub", &url]);
    let Some(subscriber) = Peer::start("subscriber.py", &[&serving.topic()]) else { return };
    assert_eq!(hub.next("subscribe")["topic"], serving.topic());
    serving.change("changed");
    let published = hub.next("published");
    assert_eq!(published["type"], "application/xml");
    let told = subscriber.next("delivered");
    assert_eq!((&told["own"], &told["hub"]), (&true.into(), &true.into()));
    assert_notification(told["body"].as_str().unwrap());
}

#[test]
fn n8_2_the_draft_0_8_is_offered_where_it_is_asked_for() {
    let serving = Serving::start(&["--notifications", "0.8"]);
    let [curl] = peers::find(["curl"]).unwrap();
    let list = format!("{}resourcesync/capabilitylist.xml", serving.server.url());
    let list = Run::of(Command::new(curl).args(["-sf", &list])).with_code(0).stdout;
    let socket = serving.topic().replacen("http", "ws", 1);
    assert!(list.contains(&format!("<loc>{socket}</loc>")) && !list.contains("rel=\"hub\""), "{list}");
    let Some(listener) = Peer::start("listener.py", &[&socket]) else { return };
    listener.next("open");
    serving.change("changed");
    let body = listener.next("message")["body"].as_str().unwrap().to_owned();
    let mut reader = DocumentReader::new(body.as_bytes(), ReadOptions::new()).unwrap();
    assert!(reader.header().up().is_some());
    assert_eq!(reader.entries().count(), 1);
}

#[test]
fn r5_without_a_hub_a_channel_is_announced_as_a_websocket_alone() {
    let Some([curl]) = peers::find(["curl"]) else { return };
    let serving = Serving::start(&["--no-hub"]);
    let list = format!("{}resourcesync/capabilitylist.xml", serving.server.url());
    let list = Run::of(Command::new(curl).args(["-sf", &list])).with_code(0).stdout;
    let announced = |url: &str| list.contains(&format!("<loc>{url}</loc>"));
    assert!(announced(&serving.topic().replacen("http", "ws", 1)), "{list}");
    // As a topic of WebSub it would need a hub (CN-4).
    assert!(!announced(&serving.topic()) && !list.contains("rel=\"hub\""), "{list}");
}

#[test]
fn curl_sees_self_hub_and_capability_list_of_a_topic() {
    let Some([curl]) = peers::find(["curl"]) else { return };
    let serving = Serving::start(&[]);
    let head = Run::of(Command::new(&curl).args(["-sfI", &serving.topic()])).with_code(0).stdout;
    for (uri, rel) in
        [(CHANGES, "self"), ("resourcesync/hub", "hub"), ("resourcesync/capabilitylist.xml", "resourcesync")]
    {
        let link = format!("<{}{uri}>; rel=\"{rel}\"", serving.server.url());
        assert!(head.contains(&link), "{link}: {head}");
    }
    let events = Run::of(Command::new(curl).args([
        "-sI",
        "-X",
        "GET",
        "-m",
        "1",
        "-H",
        "Accept: text/event-stream",
        &serving.topic(),
    ]));
    assert!(events.stdout.contains("text/event-stream"), "{}", events.stdout);
}
