//! Answers that are odd, and how they are understood.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it must be")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use instep_net::{BodyObserver, Client, Exchange, ExchangeObserver, HttpError, HttpOptions, Request, Scope};
use resourcesync::Uri;

/// Sends a request to a server that gives this answer, and returns the body or the error.
async fn body_of(answer: String) -> Result<String, HttpError> {
    observed_body_of(answer, None).await
}

/// The same, with an observer.
async fn observed_body_of(
    answer: String,
    observer: Option<Arc<dyn ExchangeObserver>>,
) -> Result<String, HttpError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = BufReader::new(stream.try_clone().unwrap());
        head.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
        // The client may hang up before it has read everything.
        let _ = stream.write_all(answer.as_bytes());
    });
    let mut options = HttpOptions::new(Scope::for_source(&url).unwrap());
    options.observer = observer;
    let client = Client::new(options).unwrap();
    let answered = client.send_once(&Request::get(Uri::parse(&url).unwrap())).await;
    let text = match answered {
        Ok(mut response) => {
            let length = response.length();
            let mut text = Vec::new();
            while let Some(data) = response.body.chunk().await? {
                text.extend_from_slice(&data);
            }
            assert!(length.is_none_or(|length| length == text.len() as u64), "{length:?}");
            Ok(String::from_utf8(text).unwrap())
        }
        Err(error) => Err(error),
    };
    server.join().unwrap();
    text
}

#[tokio::test]
async fn o276_a_length_beside_a_transfer_coding_means_nothing() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n";
    let text = body_of(format!("{head}4\r\ntext\r\n0\r\n\r\n")).await;
    assert_eq!(text.unwrap(), "text");
}

#[tokio::test]
async fn o277_an_answer_in_http_is_not_taken_for_another_protocol() {
    let many: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    for (answer, told) in [
        (format!("HTTP/1.1 200 OK\r\n{many}\r\n"), "more than 100 headers"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ntext".to_owned(),
            "content-length",
        ),
        ("SSH-2.0-OpenSSH\r\n\r\n".to_owned(), "does not answer in HTTP"),
    ] {
        let HttpError::Transfer { source, .. } = body_of(answer).await.unwrap_err() else { panic!("{told}") };
        assert!(source.to_string().contains(told), "{source}: {told}");
    }
}

#[tokio::test]
async fn o358_a_body_in_a_transfer_coding_that_was_not_accepted_is_no_resource() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    let answered = body_of(format!("{head}4\r\nzzzz\r\n0\r\n\r\n")).await;
    let HttpError::Transfer { source, .. } = answered.unwrap_err() else { panic!("another error") };
    assert!(source.to_string().contains("\"gzip\""), "{source}");
}

/// Notes how each body ended.
#[derive(Clone, Debug, Default)]
struct Endings(Arc<Mutex<Vec<bool>>>);

impl ExchangeObserver for Endings {
    fn answered(&self, _: Exchange<'_>) -> Box<dyn BodyObserver> {
        Box::new(self.clone())
    }
}

impl BodyObserver for Endings {
    fn data(&mut self, _: &Bytes) {}

    fn ended(self: Box<Self>, is_whole: bool) {
        self.0.lock().unwrap().push(is_whole);
    }
}

#[tokio::test]
async fn o357_an_observer_knows_that_a_body_without_a_length_has_arrived() {
    for (answer, is_whole) in [
        ("Content-Length: 4\r\n\r\ntext", true),
        ("Content-Length: 0\r\n\r\n", true),
        ("Content-Length: 5\r\n\r\ntext", false),
        ("Connection: close\r\n\r\ntext", true),
        ("Transfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n", true),
        ("Transfer-Encoding: chunked\r\n\r\n4;a=b\r\ntext\r\n0\r\nT: r\r\n\r\n", true),
        ("Transfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n", false),
    ] {
        let endings = Endings::default();
        let observer: Arc<dyn ExchangeObserver> = Arc::new(endings.clone());
        let body = observed_body_of(format!("HTTP/1.1 200 OK\r\n{answer}"), Some(observer)).await;
        assert_eq!((body.is_ok(), &endings.0.lock().unwrap()[..]), (is_whole, &[is_whole][..]), "{answer}");
    }
}

#[tokio::test]
async fn o391_headers_in_the_forms_of_old_servers_are_read() {
    for header in ["X-Folded: a\r\n b\r\n", "X-Blank : a\r\n"] {
        let answered = body_of(format!("HTTP/1.1 200 OK\r\n{header}Content-Length: 4\r\n\r\ntext")).await;
        assert_eq!(answered.unwrap(), "text", "{header:?}");
    }
}
