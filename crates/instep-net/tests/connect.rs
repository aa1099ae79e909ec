//! Connections to a server: TLS with right and wrong certificates (D30), HTTP/2, proxies.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

#[path = "support/tls.rs"]
mod tls;

use std::{
    convert::Infallible,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};

use http_body_util::Full;
use hyper::{body::Bytes, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use instep_net::{Client, HttpError, HttpOptions, Refusal, Request, Scope};
use instep_testkit::FakeSource;
use resourcesync::Uri;
use tls::data;

fn uri(text: impl AsRef<str>) -> Uri {
    Uri::parse(text.as_ref()).unwrap()
}

fn options(url: &str) -> HttpOptions {
    let mut options = HttpOptions::new(Scope::for_source(url).unwrap());
    options.backoff = Duration::from_millis(1);
    options.retries = 2;
    options
}

async fn text(options: HttpOptions, url: &str) -> Result<String, HttpError> {
    let client = Client::new(options)?;
    let mut response = client.send(&Request::get(uri(url))).await?;
    let body = response.body.read_up_to(1000).await?.unwrap();
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// The requests that a server has at a time.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    /// Has one more request for a round trip.
    async fn visit(&self) {
        let now = self.now.fetch_add(1, Relaxed) + 1;
        self.most.fetch_max(now, Relaxed);
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.now.fetch_sub(1, Relaxed);
    }
}

/// A server with a certificate, that says which version of HTTP it is spoken to with.
async fn secure_server(certificate: &str, protocols: &[&[u8]]) -> String {
    crowded_server(certificate, protocols, Arc::default()).await
}

/// The same, whose requests are counted.
async fn crowded_server(certificate: &str, protocols: &[&[u8]], crowd: Arc<Crowd>) -> String {
    tls::serve(tls::open_to_all(certificate, protocols), move |stream| {
        let crowd = Arc::clone(&crowd);
        let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let crowd = Arc::clone(&crowd);
            async move {
                crowd.visit().await;
                let version = format!("{:?}", request.version());
                Ok::<_, Infallible>(hyper::Response::new(Full::new(Bytes::from(version))))
            }
        });
        async move {
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            drop(server.serve_connection(TokioIo::new(stream), answer).await);
        }
    })
    .await
}

#[tokio::test]
async fn an_authority_that_the_operator_names_is_trusted_and_http_2_spoken_where_offered() {
    for (protocols, version) in [(&[b"h2".as_slice(), b"http/1.1"][..], "HTTP/2.0"), (&[], "HTTP/1.1")] {
        let url = secure_server("server.pem", protocols).await;
        let mut options = options(&url);
        options.ca_file = Some(data("ca.pem"));
        assert_eq!(text(options, &url).await.unwrap(), version);
    }
}

#[tokio::test]
async fn a_connection_that_carries_many_requests_gets_more_than_one_of_http_1_and_never_more_than_allowed() {
    for (protocols, is_shared) in [(&[b"h2".as_slice()][..], true), (&[], false)] {
        let crowd = Arc::new(Crowd::default());
        let url = crowded_server("server.pem", protocols, Arc::clone(&crowd)).await;
        let mut options = options(&url);
        options.ca_file = Some(data("ca.pem"));
        (options.per_host, options.streams, options.transfers) = (4, 12, 12);
        let client = Client::new(options).unwrap();
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..32 {
            let (client, url) = (client.clone(), url.clone());
            asking.spawn(async move {
                for _ in 0..20 {
                    let mut response = client.send(&Request::get(uri(&url))).await.unwrap();
                    response.body.read_up_to(1000).await.unwrap();
                }
            });
        }
        asking.join_all().await;
        let most = crowd.most.load(Relaxed);
        let expected = if is_shared { 5..=12 } else { 4..=4 };
        assert!(expected.contains(&most), "{most} at a time");
    }
}

#[tokio::test]
async fn d30_a_certificate_that_is_expired_or_of_nobody_ends_it_at_once() {
    let expired = secure_server("expired.pem", &[]).await;
    let mut trusting = options(&expired);
    trusting.ca_file = Some(data("ca.pem"));
    let unknown = secure_server("server.pem", &[]).await;
    for (options, url) in [(trusting, &expired), (options(&unknown), &unknown)] {
        let error = text(options, url).await.unwrap_err();
        assert!(matches!(&error, HttpError::Connect { transient: false, .. }), "{error:?}");
        assert!(!error.is_transient());
    }
}

#[test]
fn o303_a_certificate_file_that_cannot_be_used_is_told_before_any_request() {
    let mut options = options("http://127.0.0.1/");
    options.ca_file = Some("/nonexistent/ca.pem".into());
    let error = Client::new(options).unwrap_err();
    assert!(matches!(error, HttpError::Option { .. }), "{error:?}");
    assert!(error.to_string().contains("/nonexistent/ca.pem"), "{error}");
}

/// A proxy for one connection: it notes the head of the request and answers.
fn proxy(answer: &'static str) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://user:secret@{}", listener.local_addr().unwrap());
    let noting = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let head = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        stream.write_all(answer.as_bytes()).unwrap();
        head
    });
    (url, noting)
}

#[tokio::test]
async fn a_proxy_is_told_the_whole_uri_and_who_asks() {
    let (proxy, noting) = proxy("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let url = "http://nowhere.example/a?b";
    let mut options = options(url);
    options.proxy = Some(proxy);
    assert_eq!(text(options, url).await.unwrap(), "ok");
    let head = noting.join().unwrap();
    assert_eq!(head[0], "GET http://nowhere.example/a?b HTTP/1.1");
    assert!(head.iter().any(|line| line == "proxy-authorization: Basic dXNlcjpzZWNyZXQ="), "{head:?}");
}

#[tokio::test]
async fn https_goes_through_a_tunnel_and_a_refused_one_is_a_failed_connection() {
    let (proxy, noting) = proxy("HTTP/1.1 403 Forbidden\r\n\r\n");
    let url = "https://nowhere.example/a";
    let mut options = options(url);
    options.retries = 0;
    options.proxy = Some(proxy);
    let error = text(options, url).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }), "{error:?}");
    assert!(noting.join().unwrap()[0].starts_with("CONNECT nowhere.example:443 "));
}

#[tokio::test]
async fn d23_a_private_address_is_not_asked_for_through_a_proxy_either() {
    let (proxy, _noting) = proxy("");
    let mut options = options("http://nowhere.example/");
    options.proxy = Some(proxy);
    let client = Client::new(options).unwrap();
    let error = client.send(&Request::get(uri("http://169.254.169.254/latest"))).await.unwrap_err();
    assert!(matches!(error, HttpError::Refused { reason: Refusal::PrivateAddress { .. }, .. }), "{error:?}");
}

#[tokio::test]
async fn connections_are_used_again() {
    let source = FakeSource::start();
    let client = Client::new(options(&source.url(""))).unwrap();
    for number in 0..50 {
        let path = format!("r/{number}");
        source.put(&path, "text");
        let mut response = client.send(&Request::get(uri(source.url(&path)))).await.unwrap();
        assert_eq!(response.body.read_up_to(10).await.unwrap().unwrap(), "text");
    }
    assert_eq!(source.connections(), 1);
}

/// The server closes each connection after an answer, without a word of it in the answer.
#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_costs_no_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    let (closed, mut closing) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            assert!(lines.map(Result::unwrap).take_while(|line| !line.is_empty()).count() > 1);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
            drop(stream);
            closed.send(()).unwrap();
        }
    });
    let mut options = options(&url);
    options.retries = 0;
    let client = Client::new(options).unwrap();
    for _ in 0..3 {
        let mut response = client.send(&Request::get(uri(&url))).await.unwrap();
        assert_eq!(response.body.read_up_to(10).await.unwrap().unwrap(), "ok");
        closing.recv().await.unwrap();
        // The runtime hears of it when it looks at its sockets again.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn o157_a_file_of_authorities_that_has_none_is_told_and_not_ignored() {
    let mut options = options("http://127.0.0.1/");
    options.ca_file = Some(data("../../connect.rs"));
    let error = Client::new(options).unwrap_err();
    assert!(error.to_string().contains("it has none in PEM format"), "{error}");
}

#[test]
fn o333_a_file_of_authorities_is_read_before_https_needs_it() {
    let mut options = options("http://127.0.0.1:1/");
    options.ca_file = Some(data("none.pem"));
    let error = Client::new(options).unwrap_err();
    assert!(error.to_string().contains("Cannot use the certificates in"), "{error}");
}
