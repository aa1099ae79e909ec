//! TLS: HTTP/1.1 and HTTP/2 over it, and certificates that are renewed without a restart.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::Arc,
};

use hyper_util::rt::{TokioExecutor, TokioIo};
use instep_source::serve::ServeOptions;
use instep_testkit::wait_until;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tempfile::TempDir;
use tokio_rustls::TlsConnector;

use super::server::{Server, folder};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// Returns a client that trusts both certificates.
fn client(protocol: &[u8]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for name in ["first.pem", "second.pem"] {
        roots.add(CertificateDer::from_pem_file(data(name)).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

fn host() -> ServerName<'static> {
    ServerName::try_from("127.0.0.1").unwrap()
}

/// A Source with the first certificate, and the folder that its files are in.
pub(super) fn with(change: impl FnOnce(&mut ServeOptions)) -> (Server, TempDir) {
    let certificates = tempfile::tempdir().unwrap();
    let (chain, key) = (certificates.path().join("chain.pem"), certificates.path().join("key.pem"));
    fs::copy(data("first.pem"), &chain).unwrap();
    fs::copy(data("first.key"), &key).unwrap();
    let server = Server::with(folder(&[("a.txt", b"abc")]), |options| {
        options.tls = Some((chain, key));
        change(options);
    });
    (server, certificates)
}

fn start() -> (Server, TempDir) {
    with(|_| ())
}

/// A connection over which the handshake is complete, and nothing else has come.
pub(super) fn shake_hands(server: &Server) -> TcpStream {
    let mut connection = ClientConnection::new(client(b"http/1.1"), host()).unwrap();
    let mut stream = super::raw::connect(server.address);
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).unwrap();
    }
    stream
}

/// An answer over TLS, and the certificate it came with.
pub(super) fn get(server: &Server) -> (String, Vec<u8>) {
    let connection = ClientConnection::new(client(b"http/1.1"), host()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(server.address).unwrap());
    stream.write_all(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let certificate = stream.conn.peer_certificates().unwrap()[0].to_vec();
    (String::from_utf8(answer).unwrap(), certificate)
}

#[test]
fn a_certificate_is_renewed_at_hangup_and_connections_go_on() {
    let (server, certificates) = start();
    assert!(server.base.starts_with("https://127.0.0.1:"));
    let (answer, first) = get(&server);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("abc"), "{answer}");
    fs::copy(data("second.pem"), certificates.path().join("chain.pem")).unwrap();
    fs::copy(data("second.key"), certificates.path().join("key.pem")).unwrap();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
    let second = CertificateDer::from_pem_file(data("second.pem")).unwrap();
    wait_until("the new certificate is used", || get(&server).1 == second.as_ref());
    assert_ne!(first, second.as_ref());
}

#[test]
fn http_2_is_spoken_where_it_is_asked_for() {
    let (server, _certificates) = start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let stream = TlsConnector::from(client(b"h2")).connect(host(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        for range in [None, Some("bytes=1-1")] {
            let request = http::Request::get(format!("{}a.txt", server.base));
            let request = match range {
                Some(range) => request.header("range", range),
                None => request,
            };
            let request = request.body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
            let answer = sender.send_request(request).await.unwrap();
            assert_eq!(answer.status().as_u16(), if range.is_some() { 206 } else { 200 });
            assert!(answer.headers().contains_key("etag"));
        }
    });
}

#[test]
fn a_key_that_is_none_is_refused_with_the_file() {
    let refused = instep_source::serve::Tls::open(data("first.pem"), data("second.pem")).unwrap_err();
    assert!(refused.to_string().contains("second.pem"), "{refused}");
}
