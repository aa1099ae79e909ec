//! Subscribers of the hub, which the servers of a Source share.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use instep_testkit::{LONG, wait_for};

use super::source::SharedSource;

/// A callback that confirms each request and accepts each delivery.
struct Callback {
    port: u16,
    deliveries: Receiver<Delivered>,
}

struct Delivered {
    is_signed: bool,
    text: String,
}

impl Callback {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, deliveries) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sender = sender.clone();
                thread::spawn(move || while answer(&stream, &sender).is_some() {});
            }
        });
        Self { port, deliveries }
    }

    /// Waits for a delivery that names a resource. Returns the others before it, too.
    fn hears(&self, name: &str) -> Vec<Delivered> {
        let mut heard = Vec::new();
        while !heard.last().is_some_and(|last: &Delivered| last.text.contains(name)) {
            heard.push(self.deliveries.recv_timeout(LONG).unwrap());
        }
        heard
    }
}

/// Answers a request; `None` at the end of the connection.
fn answer(stream: &TcpStream, deliveries: &Sender<Delivered>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length, mut is_signed) = (String::new(), 0, false);
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "x-hub-signature" => is_signed = true,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let challenge = first.split(['?', '&', ' ']).find_map(|part| part.strip_prefix("hub.challenge="));
    if first.starts_with("POST") {
        deliveries.send(Delivered { is_signed, text: String::from_utf8(body).unwrap() }).ok()?;
    }
    let challenge = challenge.unwrap_or_default();
    let mut stream = stream;
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{challenge}", challenge.len()).ok()
}

/// Sends a request of a subscriber to a server; returns the status.
fn ask(server: u16, mode: &str, source: &SharedSource, callback: u16) -> String {
    let escaped = |text: &str| {
        text.bytes().fold(String::new(), |mut all, byte| {
            let _ = write!(all, "%{byte:02X}");
            all
        })
    };
    let topic = escaped(&format!("{}resourcesync/change-notification", source.base_url));
    let callback = escaped(&format!("http://127.0.0.1:{callback}/callback"));
    let form = format!("hub.mode={mode}&hub.topic={topic}&hub.callback={callback}&hub.secret=secret");
    let mut stream = TcpStream::connect(("127.0.0.1", server)).unwrap();
    write!(
        stream,
        "POST /resourcesync/hub HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

fn subscriptions(source: &SharedSource, number: &str) {
    let count = || source.sql("SELECT count(*) FROM instep_source.subscription");
    wait_for(|| if count() == number { Ok(()) } else { Err(count()) });
}

#[test]
fn a_subscriber_that_asks_any_server_is_delivered_to_by_whichever_one_publishes() {
    let Some(source) = SharedSource::new() else { return };
    source.write("a.txt", "one");
    let (first, second, port) = source.start_two(&[]);
    let [early, late] = [(); 2].map(|()| Callback::start());
    // The standby server accepts the request once it shows the Source; the publishing server carries it out.
    wait_for(|| match ask(port, "subscribe", &source, early.port) {
        status if status == "202" => Ok(()),
        status => Err(status),
    });
    assert_eq!(ask(source.port, "subscribe", &source, late.port), "202");
    subscriptions(&source, "2");
    source.write("b.txt", "one");
    for callback in [&early, &late] {
        let heard = callback.hears("b.txt");
        assert!(heard.iter().all(|delivered| delivered.is_signed));
        assert_eq!(heard.len(), 1, "each message is delivered by one server");
    }
    assert_eq!(ask(port, "unsubscribe", &source, late.port), "202");
    subscriptions(&source, "1");
    // Nobody subscribes again: the successor has the subscription, its secret, and the messages that were not
    // delivered.
    first.signal("-9");
    second.wait_for("ready");
    for name in ["c.txt", "d.txt"] {
        source.write(name, "one");
        let heard = early.hears(name);
        assert!(heard.iter().all(|delivered| delivered.is_signed));
    }
    assert!(late.deliveries.try_recv().is_err(), "it has left");
    // No requests are left over.
    assert_eq!(source.sql("SELECT count(*) FROM instep_source.hub_request"), "0");
    assert_eq!(ask(port, "unsubscribe", &source, early.port), "202");
    subscriptions(&source, "0");
}
