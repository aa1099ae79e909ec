//! WebSub: subscribers at their callbacks, notified by the hub of the Source.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use data_encoding::HEXLOWER;
use instep_testkit::LONG;
use ring::hmac;

use super::{
    raw::{Answer, answer, send},
    server::Server,
    subscriber::{Call, Subscriber},
};

const TOPIC: &str = "resourcesync/change-notification";

fn ask(server: &Server, parameters: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    let text = format!(
        "POST /resourcesync/hub HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    answer(&send(server.address, text.as_bytes())).unwrap()
}

fn subscribe(server: &Server, callback: &str, more: &[(&str, &str)]) -> u16 {
    let topic = format!("{}{TOPIC}", server.base);
    let own = [("hub.mode", "subscribe"), ("hub.topic", topic.as_str()), ("hub.callback", callback)];
    ask(server, &[&own[..], more].concat()).status
}

/// Subscribes and waits for the intent to be verified; the hub notes it before it verifies another one.
fn subscribed(server: &Server, subscriber: &Subscriber, more: &[(&str, &str)]) -> Call {
    assert_eq!(subscribe(server, &subscriber.callback(), more), 202);
    subscriber.next()
}

/// Changes the file until the subscriber is notified: the first change may come before the subscription is noted.
fn notified(server: &Server, subscriber: &Subscriber) -> Call {
    for round in 0..400 {
        fs::write(server.path("a.txt"), format!("{round}")).unwrap();
        if let Ok(call) = subscriber.calls.recv_timeout(LONG / 400) {
            return call;
        }
    }
    panic!("never notified");
}

#[test]
fn a_subscriber_is_asked_then_told_with_a_signature() {
    let server = Server::start(&[("a.txt", b"a")]);
    let subscriber = Subscriber::willing();
    let secret = "a secret of the subscriber";
    let intent = subscribed(&server, &subscriber, &[("hub.secret", secret), ("hub.lease_seconds", "1")]);
    assert_eq!(intent.method, "GET");
    assert_eq!(intent.parameter("hub.mode").as_deref(), Some("subscribe"));
    assert_eq!(intent.parameter("hub.topic"), Some(format!("{}{TOPIC}", server.base)));
    assert_eq!(intent.parameter("hub.lease_seconds").as_deref(), Some("3600"), "W4");
    let notified = notified(&server, &subscriber);
    assert_eq!(
        (notified.method.as_str(), notified.header("content-type")),
        ("POST", Some("application/xml"))
    );
    let links = notified.header("link").unwrap();
    assert!(links.contains("rel=\"self\"") && links.contains("rel=\"hub\""), "{links}");
    assert!(String::from_utf8_lossy(&notified.body).contains("a.txt"));
    let tag = notified.header("x-hub-signature").unwrap().strip_prefix("sha256=").unwrap();
    let tag = HEXLOWER.decode(tag.as_bytes()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::verify(&key, &notified.body, &tag).unwrap();
}

#[test]
fn who_unsubscribes_or_is_gone_is_told_no_more() {
    let server = Server::start(&[("a.txt", b"a")]);
    let leaving = Subscriber::willing();
    let gone = Subscriber::start(|call| match call.method.as_str() {
        "GET" => (200, call.parameter("hub.challenge").unwrap()),
        _ => (410, String::new()),
    });
    subscribed(&server, &leaving, &[]);
    subscribed(&server, &gone, &[]);
    notified(&server, &leaving);
    notified(&server, &gone);
    let topic = format!("{}{TOPIC}", server.base);
    let callback = leaving.callback();
    let form =
        [("hub.mode", "unsubscribe"), ("hub.topic", topic.as_str()), ("hub.callback", callback.as_str())];
    assert_eq!(ask(&server, &form).status, 202);
    while leaving.next().parameter("hub.mode").as_deref() != Some("unsubscribe") {}
    let witness = Subscriber::willing();
    subscribed(&server, &witness, &[]);
    notified(&server, &witness);
    notified(&server, &witness);
    let late = leaving.calls.try_iter().filter(|call| call.method == "POST").count();
    assert!(late <= 1, "at most what was on its way");
    assert_eq!(gone.calls.try_iter().count(), 0);
}

#[test]
fn w8_nobody_is_subscribed_without_wanting_it() {
    let server = Server::start(&[("a.txt", b"a")]);
    let unwilling = Subscriber::start(|_| (404, String::new()));
    let echoing_wrong = Subscriber::start(|_| (200, "something else".to_owned()));
    subscribed(&server, &unwilling, &[]);
    subscribed(&server, &echoing_wrong, &[]);
    let witness = Subscriber::willing();
    subscribed(&server, &witness, &[]);
    notified(&server, &witness);
    notified(&server, &witness);
    assert_eq!(unwilling.calls.try_iter().count() + echoing_wrong.calls.try_iter().count(), 0);
    let foreign =
        [("hub.mode", "subscribe"), ("hub.topic", "http://x/t"), ("hub.callback", &unwilling.callback())];
    assert_eq!(ask(&server, &foreign).status, 404);
}

#[test]
fn w1_callbacks_at_private_addresses_are_refused_and_victims_are_not_flooded() {
    let server = Server::start(&[("a.txt", b"a")]);
    for callback in
        ["http://169.254.169.254/latest", "http://10.0.0.1/", "http://[fd00::1]/", "ftp://example.com/", "x"]
    {
        assert_eq!(subscribe(&server, callback, &[]), 400, "{callback}");
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let victim = Subscriber::start(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        (404, String::new())
    });
    let statuses: Vec<u16> =
        (0..100).map(|number| subscribe(&server, &format!("{}?{number}", victim.callback()), &[])).collect();
    let accepted = statuses.iter().filter(|status| **status == 202).count();
    assert!(accepted <= 30 && statuses.iter().filter(|status| **status == 429).count() == 100 - accepted);
    (0..accepted).for_each(|_| drop(victim.next()));
    assert_eq!(asked.load(Ordering::SeqCst), accepted);
}

#[test]
fn w1_a_callback_leads_nowhere_else_and_each_challenge_is_new() {
    let server = Server::start(&[("a.txt", b"a")]);
    let bystander = Subscriber::willing();
    let elsewhere = bystander.callback();
    let leading = Subscriber::start(move |_| (302, elsewhere.clone()));
    let redirecting = leading.address;
    assert_eq!(subscribe(&server, &format!("http://{redirecting}/"), &[]), 202);
    let first = leading.next().parameter("hub.challenge");
    assert_eq!(subscribe(&server, &format!("http://{redirecting}/"), &[]), 202);
    let second = leading.next().parameter("hub.challenge");
    assert!(first.is_some() && first != second);
    let witness = Subscriber::willing();
    subscribed(&server, &witness, &[]);
    notified(&server, &witness);
    assert_eq!(bystander.calls.try_iter().count(), 0);
}

#[test]
fn w8_nobody_is_unsubscribed_by_another() {
    let server = Server::start(&[("a.txt", b"a")]);
    let faithful = Subscriber::start(|call| match call.parameter("hub.mode").as_deref() {
        Some("unsubscribe") => (404, String::new()),
        _ => (200, call.parameter("hub.challenge").unwrap_or_default()),
    });
    subscribed(&server, &faithful, &[]);
    notified(&server, &faithful);
    let (topic, callback) = (format!("{}{TOPIC}", server.base), faithful.callback());
    let form =
        [("hub.mode", "unsubscribe"), ("hub.topic", topic.as_str()), ("hub.callback", callback.as_str())];
    assert_eq!(ask(&server, &form).status, 202);
    while faithful.next().parameter("hub.mode").as_deref() != Some("unsubscribe") {}
    assert_eq!(notified(&server, &faithful).method, "POST");
}

#[test]
fn w3_a_secret_that_is_too_long_is_refused() {
    let server = Server::start(&[("a.txt", b"a")]);
    let subscriber = Subscriber::willing();
    assert_eq!(subscribe(&server, &subscriber.callback(), &[("hub.secret", &"x".repeat(200))]), 400);
    subscribed(&server, &subscriber, &[("hub.secret", &"x".repeat(199))]);
}

#[test]
fn w10_a_dead_subscriber_delays_nobody() {
    let server = Server::start(&[("a.txt", b"a")]);
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let dead = Subscriber::start(move |call| match call.method.as_str() {
        "GET" => (200, call.parameter("hub.challenge").unwrap()),
        _ => {
            let _ = held.lock().unwrap().recv();
            (200, String::new())
        }
    });
    subscribed(&server, &dead, &[]);
    let live: Vec<Subscriber> = (0..10).map(|_| Subscriber::willing()).collect();
    for subscriber in &live {
        subscribed(&server, subscriber, &[]);
    }
    for subscriber in &live {
        notified(&server, subscriber);
    }
    drop(release);
}

#[test]
fn nobody_else_publishes_through_the_hub() {
    let server = Server::start(&[("a.txt", b"a")]);
    let body = "<urlset/>";
    for (media_type, status) in [("application/xml", 403), ("text/plain", 406)] {
        let text = format!(
            "POST /resourcesync/hub HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {media_type}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(answer(&send(server.address, text.as_bytes())).unwrap().status, status);
    }
}

#[test]
fn a_hub_elsewhere_is_told_too() {
    let hub = Subscriber::start(|_| (204, String::new()));
    let uri = hub.callback().parse().unwrap();
    let server = Server::with(super::server::folder(&[("a.txt", b"a")]), move |options| {
        options.channels.external_hubs = vec![uri];
    });
    fs::write(server.path("a.txt"), "changed").unwrap();
    let notified = hub.next();
    assert_eq!(
        (notified.method.as_str(), notified.header("content-type")),
        ("POST", Some("application/xml"))
    );
    let list = super::raw::get(server.address, "/resourcesync/capabilitylist.xml").text();
    assert!(list.contains(&hub.callback()) && list.contains("resourcesync/hub"), "{list}");
}

#[test]
fn o472_a_message_that_the_hub_cannot_store_reaches_its_subscribers_and_hubs_elsewhere() {
    let elsewhere = Subscriber::start(|_| (204, String::new()));
    let uri = elsewhere.callback().parse().unwrap();
    let server = Server::with(super::server::folder(&[("a.txt", b"a")]), move |options| {
        options.channels.external_hubs = vec![uri];
    });
    let subscriber = Subscriber::willing();
    subscribed(&server, &subscriber, &[]);
    notified(&server, &subscriber);
    let store = rusqlite::Connection::open(server.path(".instep/hub.db")).unwrap();
    store.execute_batch("DROP TABLE message").unwrap();
    fs::write(server.path("new.txt"), "new").unwrap();
    for receiver in [&subscriber, &elsewhere] {
        while !String::from_utf8_lossy(&receiver.next().body).contains("new.txt") {}
    }
}

#[test]
fn many_subscribers_of_one_willing_host_are_served() {
    let server = Server::start(&[("a.txt", b"a")]);
    let subscriber = Subscriber::willing();
    for number in 0..100 {
        assert_eq!(subscribe(&server, &format!("{}?{number}", subscriber.callback()), &[]), 202, "{number}");
    }
    for _ in 0..100 {
        let intent = subscriber.next();
        assert!(intent.target.contains("callback?") && intent.method == "GET", "{intent:?}");
    }
}

#[test]
fn who_subscribed_to_a_topic_that_is_gone_is_denied() {
    let subscriber = Subscriber::willing();
    let mut before = Server::start(&[("a.txt", b"a")]);
    subscribed(&before, &subscriber, &[]);
    notified(&before, &subscriber);
    before.end();
    // The same hub at another address, and so with other topics.
    let folder = super::server::folder(&[("a.txt", b"a")]);
    fs::create_dir(folder.path().join(".instep")).unwrap();
    fs::copy(before.path(".instep/hub.db"), folder.path().join(".instep/hub.db")).unwrap();
    let _after = Server::with(folder, |_| {});
    let denied = loop {
        let call = subscriber.next();
        if call.method == "GET" {
            break call;
        }
    };
    assert_eq!(denied.parameter("hub.mode").as_deref(), Some("denied"));
    assert_eq!(denied.parameter("hub.topic"), Some(format!("{}{TOPIC}", before.base)));
    assert!(denied.parameter("hub.reason").is_some_and(|reason| !reason.is_empty()));
}
