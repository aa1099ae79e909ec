//! Networks as they are: connections that end at any time, dead addresses, proxies, servers that want certificates.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

#[path = "support/tls.rs"]
mod tls;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use instep_net::{Client, HttpError, HttpOptions, Origin, Request, Resolve, Resolving, Scope};
use resourcesync::Uri;
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tls::data;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::{Notify, mpsc},
};

/// One attempt.
fn options(url: &str) -> HttpOptions {
    let mut options = HttpOptions::new(Scope::for_source(url).unwrap());
    options.retries = 0;
    options
}

/// One attempt at a server whose certificate is that of the tests.
fn options_over_tls(url: &str) -> HttpOptions {
    let mut options = options(url);
    options.ca_file = Some(data("ca.pem"));
    options
}

/// Answers a request of HTTP/2.
fn answer_ok(mut answer: h2::server::SendResponse<bytes::Bytes>) {
    let mut body = answer.send_response(http::Response::new(()), false).unwrap();
    body.send_data("ok".into(), true).unwrap();
}

async fn text(client: &Client, url: &str) -> Result<String, HttpError> {
    let mut response = client.send(&Request::get(Uri::parse(url).unwrap())).await?;
    let body = response.body.read_up_to(1000).await?.unwrap();
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(|error| format!("{error}: ")).collect()
}

/// Reads a request; `None` at the end of the connection.
fn head(stream: &TcpStream) -> Option<Vec<String>> {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let head: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    Some(head).filter(|head| !head.is_empty())
}

#[tokio::test]
async fn o387_a_kept_connection_that_ends_at_the_next_request_costs_no_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            head(&stream).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
            // The end of the connection and the next request cross.
            let _ = head(&stream);
        }
    });
    let client = Client::new(options(&url)).unwrap();
    for _ in 0..5 {
        assert_eq!(text(&client, &url).await.unwrap(), "ok");
    }
    // A request that changes something is not sent twice.
    let post = Request::post(Uri::parse(&url).unwrap(), "x", "text/plain");
    let error = client.send(&post).await.unwrap_err();
    assert!(matches!(error, HttpError::Transfer { .. }), "{error:?}");
}

/// A name with two addresses.
struct TwoAddresses;

impl Resolve for TwoAddresses {
    fn resolve(&self, _: &str) -> Resolving {
        let addresses = [2, 1].map(|last| IpAddr::from([127, 0, 0, last]));
        Box::pin(async move { Ok(addresses.into()) })
    }
}

#[tokio::test]
async fn o388_a_dead_address_of_a_host_delays_nobody() {
    let alive = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = alive.local_addr().unwrap().port();
    // Nobody takes its connections: once its queue is full, it does not answer.
    let dead = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), port));
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(dead).unwrap();
    let _listener = socket.listen(0).unwrap();
    let mut queue = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&dead, Duration::from_millis(100)) {
        queue.push(stream);
    }
    std::thread::spawn(move || {
        for mut stream in alive.incoming().flatten() {
            head(&stream).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok").unwrap();
        }
    });
    let url = format!("http://localhost:{port}/a");
    let mut options = options(&url);
    options.resolver = Arc::new(TwoAddresses);
    let client = Client::new(options).unwrap();
    let began = Instant::now();
    assert_eq!(text(&client, &url).await.unwrap(), "ok");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

/// A proxy for one connection: it notes the head of the request and answers.
fn proxy(answer: &'static str) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let noting = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = head(&stream).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        head
    });
    (address, noting)
}

#[tokio::test]
async fn o389_a_proxy_gets_its_login_decoded_and_is_named_if_it_opens_no_tunnel() {
    let url = "https://nowhere.example/a";
    for (answer, said) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 3\r\n\r\nno!", "407"),
        ("HTTP/1.0 403 Forbidden\r\n\r\n", "the proxy 127.0.0.1:PORT answers 403 Forbidden"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "127.0.0.1:PORT does not answer as a proxy does"),
        ("HTTP/1.1 200 OK\r\n", "127.0.0.1:PORT does not answer as a proxy does"),
    ] {
        let (address, noting) = proxy(answer);
        let mut options = options(url);
        options.proxy = Some(format!("http://a%40b:c%3Ad@{address}"));
        let error = text(&Client::new(options).unwrap(), url).await.unwrap_err();
        let said = said.replace("PORT", &address.port().to_string());
        assert!(chain(&error).contains(&said), "{}: {said}", chain(&error));
        let is_login = error.status().is_some_and(|status| status == 407);
        assert!(is_login || matches!(error, HttpError::Connect { .. }), "{error:?}");
        assert!(!answer.contains("403") || !error.is_transient(), "{error:?}");
        let head = noting.join().unwrap();
        assert_eq!(head[0], "CONNECT nowhere.example:443 HTTP/1.1");
        let login = "proxy-authorization: Basic YUBiOmM6ZA==";
        assert!(head.iter().any(|line| line.eq_ignore_ascii_case(login)), "{head:?}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [url, "http://nowhere.example/a"] {
        let mut options = options(url);
        options.proxy = Some(format!("http://{closed}"));
        let error = text(&Client::new(options).unwrap(), url).await.unwrap_err();
        assert!(
            chain(&error).contains(&format!("the proxy {closed} cannot be reached")),
            "{}",
            chain(&error)
        );
    }
}

#[tokio::test]
async fn o401_a_connection_of_http_2_that_the_server_ends_costs_no_attempt() {
    let url = tls::serve(tls::open_to_all("server.pem", &[b"h2"]), |stream| async move {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let mut answers = 0;
        while let Some(Ok((_, answer))) = connection.accept().await {
            if answers == 1 {
                connection.abrupt_shutdown(h2::Reason::NO_ERROR);
                continue;
            }
            answers += 1;
            answer_ok(answer);
        }
    })
    .await;
    let client = Client::new(options_over_tls(&url)).unwrap();
    for _ in 0..5 {
        assert_eq!(text(&client, &url).await.unwrap(), "ok");
    }
}

/// A network that forgets a connection answers nothing that is sent over it.
#[tokio::test]
async fn o852_a_connection_of_http_2_over_which_no_answer_comes_is_not_used_again() {
    let connections = AtomicUsize::new(0);
    let url = tls::serve(tls::open_to_all("server.pem", &[b"h2"]), move |stream| {
        let is_first = connections.fetch_add(1, Relaxed) == 0;
        async move {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let (mut answers, mut unanswered) = (0, Vec::new());
            while let Some(Ok((_, answer))) = connection.accept().await {
                if is_first && answers == 1 {
                    unanswered.push(answer);
                    continue;
                }
                answers += 1;
                answer_ok(answer);
            }
        }
    })
    .await;
    let mut options = options_over_tls(&url);
    options.timeout = Duration::from_secs(1);
    (options.retries, options.backoff) = (1, Duration::from_millis(1));
    let client = Client::new(options).unwrap();
    for _ in 0..3 {
        assert_eq!(text(&client, &url).await.unwrap(), "ok");
    }
}

#[tokio::test]
async fn o859_an_answer_over_http_2_that_the_server_gives_up_without_an_error_is_not_complete() {
    let has_half = Arc::new(Notify::new());
    let may_go_on = Arc::clone(&has_half);
    let url = tls::serve(tls::open_to_all("server.pem", &[b"h2"]), move |stream| {
        let may_go_on = Arc::clone(&may_go_on);
        async move {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut answer))) = connection.accept().await {
                let may_go_on = Arc::clone(&may_go_on);
                tokio::spawn(async move {
                    let mut body = answer.send_response(http::Response::new(()), false).unwrap();
                    body.send_data("half".into(), false).unwrap();
                    may_go_on.notified().await;
                    body.send_reset(h2::Reason::NO_ERROR);
                });
            }
        }
    })
    .await;
    let client = Client::new(options_over_tls(&url)).unwrap();
    let mut response = client.send(&Request::get(Uri::parse(&url).unwrap())).await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "half");
    has_half.notify_one();
    let error = response.body.chunk().await.unwrap_err();
    assert!(matches!(error, HttpError::Transfer { .. }), "{error:?}");
    assert!(!response.body.is_end());
}

#[tokio::test]
async fn o850_a_protocol_that_begins_as_http_1_is_not_opened_over_http_2() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let server = tls::open_to_all("server.pem", &[b"h2", b"http/1.1"]);
    let url = tls::serve(server, move |stream| {
        tell.send(stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec)).unwrap();
        async {}
    })
    .await;
    let client = Client::new(options_over_tls(&url)).unwrap();
    client.connect(&Uri::parse(&url).unwrap(), &Origin::parse(&url).unwrap()).await.unwrap();
    assert_eq!(told.recv().await.unwrap().as_deref(), Some(&b"http/1.1"[..]));
}

#[tokio::test]
async fn o851_a_protocol_that_begins_as_http_1_goes_through_a_tunnel_of_the_proxy() {
    let url = "http://nowhere.example/channel";
    let (address, noting) = proxy("HTTP/1.1 200 OK\r\n\r\n");
    let mut options = options(url);
    options.proxy = Some(format!("http://{address}"));
    let client = Client::new(options).unwrap();
    client.connect(&Uri::parse(url).unwrap(), &Origin::parse(url).unwrap()).await.unwrap();
    assert_eq!(noting.join().unwrap()[0], "CONNECT nowhere.example:80 HTTP/1.1");
}

/// Servers that count on the length of a body end a connection without ending TLS.
#[tokio::test]
async fn o855_a_kept_connection_that_ends_without_the_end_of_tls_costs_no_attempt() {
    let url = tls::serve(tls::open_to_all("server.pem", &[]), |mut stream| async move {
        for answer in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", ""] {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { return };
                head.push(byte);
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
        // The end of the connection and the second request cross.
        stream.get_mut().0.shutdown().await.unwrap();
    })
    .await;
    let client = Client::new(options_over_tls(&url)).unwrap();
    for _ in 0..5 {
        assert_eq!(text(&client, &url).await.unwrap(), "ok");
    }
}

/// A server with TLS that sends these bytes and ends each connection without ending TLS.
async fn torn_server(config: ServerConfig, answer: &'static str) -> String {
    tls::serve(config, move |mut stream| async move {
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        stream.get_mut().0.shutdown().await.unwrap();
    })
    .await
}

#[tokio::test]
async fn o390_a_server_that_wants_a_certificate_or_cuts_off_tls_is_told_in_words() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(data("ca.pem")).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
    let (certificates, key) = tls::identity("server.pem");
    let wanting =
        tls::begin().with_client_cert_verifier(verifier).with_single_cert(certificates, key).unwrap();
    let open = tls::open_to_all("server.pem", &[]);
    for (config, said, is_transient) in [
        (wanting, "it requires a certificate of its clients", false),
        (open, "the connection ended without the end that TLS has (close_notify)", true),
    ] {
        let url = torn_server(config, "HTTP/1.1 200 OK\r\n\r\nhalf of it").await;
        let error = text(&Client::new(options_over_tls(&url)).unwrap(), &url).await.unwrap_err();
        assert!(chain(&error).contains(said), "{}", chain(&error));
        assert_eq!(error.is_transient(), is_transient);
    }
}
