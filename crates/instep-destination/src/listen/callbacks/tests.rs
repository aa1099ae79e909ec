//! The callback server, over real connections.

use data_encoding::HEXLOWER;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::listen::{ChannelState, Inbox, Kind, hub_request::Ask, lease::Lease};

const BODY: &str = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
    xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md capability=\"changelist\"/></urlset>";
const TOPIC: &str = "http://source/topic";
const LEASE: Duration = Duration::from_secs(3_600);

/// A server with one subscription, whose hub has confirmed it.
struct Scene {
    address: std::net::SocketAddr,
    inbox: Arc<Inbox>,
    ask: Ask,
    _subscription: Arc<Subscription>,
}

impl Scene {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (inbox, state) = (Arc::new(Inbox::default()), Arc::new(ChannelState::default()));
        let uri = |text: &str| Uri::parse(text).unwrap();
        let name = (uri("http://source/capabilitylist.xml"), Kind::Changes);
        let subscription =
            Subscription::new(uri(TOPIC), Lease::new(1, LEASE), name, Arc::clone(&inbox), state);
        let subscription = Arc::new(subscription);
        let server = Arc::new(CallbackServer::new(false));
        server
            .subscriptions
            .lock()
            .unwrap()
            .insert(subscription.key().to_owned(), Arc::downgrade(&subscription));
        tokio::spawn(accept(listener, Arc::clone(&server)));
        let ask = subscription.ask().unwrap();
        let scene = Self { address, inbox, ask, _subscription: subscription };
        let answer = scene.verify(&scene.ask.identity.token, "subscribe", TOPIC).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\na challenge"), "{answer}");
        drop(scene.inbox.take());
        scene
    }

    async fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    async fn verify(&self, token: &str, mode: &str, topic: &str) -> String {
        let query = format!("hub.mode={mode}&hub.topic={topic}&hub.challenge=a+challenge&hub.reason=none");
        let request = format!("GET /push/{token}?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        self.send(request.as_bytes()).await
    }

    /// Delivers a body. Returns the status of the answer, and `true` if the delivery had an effect.
    async fn deliver(&self, token: &str, headers: &str, body: &str) -> (u16, bool) {
        let length = body.len();
        let head =
            format!("POST /{token} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}");
        let answer = self.send(format!("{head}\r\n{headers}\r\n\r\n{body}").as_bytes()).await;
        (answer[9..12].parse().unwrap(), !self.inbox.take().messages.is_empty())
    }

    fn signed(&self, body: &str) -> String {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.ask.identity.secret.as_bytes());
        let tag = ring::hmac::sign(&key, body.as_bytes());
        let hex = HEXLOWER.encode(tag.as_ref());
        format!("Content-Type: application/xml\r\nX-Hub-Signature: sha256={hex}")
    }
}

#[tokio::test]
async fn w2_only_what_the_hub_signed_has_an_effect_and_a_forger_learns_nothing() {
    let scene = Scene::open().await;
    let token = scene.ask.identity.token.clone();
    let right = scene.signed(BODY);
    assert_eq!(scene.deliver(&token, &right, BODY).await, (202, true));
    assert_eq!(scene.deliver(&token, &right, "b0dy").await, (202, false), "another body");
    let unsigned = "Content-Type: text/xml";
    assert_eq!(scene.deliver(&token, unsigned, BODY).await, (202, false), "no signature");
    let forged = format!("{unsigned}\r\nX-Hub-Signature: sha256={}", "0".repeat(64));
    assert_eq!(scene.deliver(&token, &forged, BODY).await, (202, false), "another secret");
    let about = |topic: &str| format!("{right}\r\nLink: <{topic}>; rel=\"self\", <http://hub/>; rel=hub");
    assert_eq!(scene.deliver(&token, &about(TOPIC), BODY).await, (202, true));
    assert_eq!(scene.deliver(&token, &about("http://source/other"), BODY).await, (202, false));
    let page = right.replace("application/xml", "text/html");
    assert_eq!(scene.deliver(&token, &page, BODY).await, (415, false), "CN-21");
}

#[tokio::test]
async fn o156_a_denial_without_a_reason_is_told_without_one() {
    let scene = Scene::open().await;
    let target = format!("/push/{}?hub.mode=denied&hub.topic={TOPIC}", scene.ask.identity.token);
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(scene.send(request.as_bytes()).await.starts_with("HTTP/1.1 200"));
    let notes = scene.inbox.take().notes;
    assert!(notes[0].contains("denied; polling"), "{notes:?}");
}

#[tokio::test]
async fn w6_a_guessed_callback_is_nobodys() {
    let scene = Scene::open().await;
    let right = scene.signed(BODY);
    for guess in ["", "push", "x", &scene.ask.identity.token[1..]] {
        assert_eq!(scene.deliver(guess, &right, BODY).await, (404, false), "{guess}");
        assert!(scene.verify(guess, "subscribe", TOPIC).await.starts_with("HTTP/1.1 404"), "{guess}");
    }
    assert_eq!(scene.ask.identity.token.len(), 64);
}

#[tokio::test]
async fn cn_13_w8_only_what_was_asked_for_is_confirmed() {
    let scene = Scene::open().await;
    let token = scene.ask.identity.token.clone();
    for (mode, topic) in [("subscribe", "http://source/other"), ("unsubscribe", TOPIC), ("subscribe", "")] {
        let answer = scene.verify(&token, mode, topic).await;
        assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("challenge"), "{mode} {topic}");
    }
    assert!(scene.verify(&token, "denied", TOPIC).await.starts_with("HTTP/1.1 200"));
    let received = scene.inbox.take();
    assert!(received.look && received.notes[0].contains("denied: none"), "CN-15: {received:?}");
    assert_eq!(scene.deliver(&token, &scene.signed(BODY), BODY).await, (404, false));
}

#[tokio::test]
async fn w7_what_is_too_large_is_refused() {
    let scene = Scene::open().await;
    let token = scene.ask.identity.token.clone();
    let entry = "<url><loc>http://source/resource</loc></url>";
    let entries = entry.repeat((MOST_BYTES - BODY.len()) / entry.len());
    let fits = BODY.replace("</urlset>", &format!("{entries}</urlset>"));
    let fits = format!("{fits}{}", " ".repeat(MOST_BYTES - fits.len()));
    assert_eq!(scene.deliver(&token, &scene.signed(&fits), &fits).await, (202, true));
    let head =
        format!("POST /{token} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: text/xml\r\n");
    let announced = format!("{head}Content-Length: {}\r\n\r\n", MOST_BYTES + 1);
    assert!(scene.send(announced.as_bytes()).await.starts_with("HTTP/1.1 413"));
    let endless = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{fits}\r\n1\r\nx\r\n", MOST_BYTES);
    assert!(scene.send(endless.as_bytes()).await.starts_with("HTTP/1.1 413"));
}

/// The paused clock advances only while every task waits.
#[tokio::test(start_paused = true)]
async fn w7_who_is_slow_is_given_up_and_keeps_nobody_out() {
    let scene = Scene::open().await;
    let token = scene.ask.identity.token.clone();
    let head =
        format!("POST /{token} HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: 1000\r\n");
    let mut body = TcpStream::connect(scene.address).await.unwrap();
    body.write_all(format!("{head}\r\n<urlset").as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    body.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");

    // Every connection is taken by a client that sends nothing, or an incomplete request.
    let mut slow = Vec::new();
    for number in 0..super::super::connections::CONNECTIONS {
        let mut stream = TcpStream::connect(scene.address).await.unwrap();
        let said = if number % 2 == 0 { "" } else { head.as_str() };
        stream.write_all(said.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    assert_eq!(scene.deliver(&token, &scene.signed(BODY), BODY).await, (202, true));
}

#[tokio::test]
async fn b23_strangers_who_drip_headers_keep_no_hub_out() {
    let scene = Scene::open().await;
    let mut strangers = Vec::new();
    for _ in 0..150 {
        let mut stream = TcpStream::connect(scene.address).await.unwrap();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ").await;
        strangers.push(stream);
    }
    let token = scene.ask.identity.token.clone();
    assert_eq!(scene.deliver(&token, &scene.signed(BODY), BODY).await, (202, true));
    // The first outsider was closed in favour of later ones, long before its headers were due.
    assert_eq!(strangers[0].read(&mut [0; 1]).await.unwrap_or(0), 0);
}
