//! Servers that speak TLS, with the certificates of `tests/data/tls`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ConfigBuilder, ServerConfig, WantsVerifier,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// Returns the path of a certificate or a key.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// Begins the configuration of a server.
pub(crate) fn begin() -> ConfigBuilder<ServerConfig, WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap()
}

/// Returns a certificate and its key.
pub(crate) fn identity(certificate: &str) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let certificate = CertificateDer::from_pem_file(data(certificate)).unwrap();
    (vec![certificate], PrivateKeyDer::from_pem_file(data("server.key")).unwrap())
}

/// Returns the configuration of a server that every client may use, with the protocols that it offers.
pub(crate) fn open_to_all(certificate: &str, protocols: &[&[u8]]) -> ServerConfig {
    let (certificates, key) = identity(certificate);
    let mut config = begin().with_no_client_auth().with_single_cert(certificates, key).unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    config
}

/// Passes each connection to `answer`, on a task of its own, and returns the URL of the server.
pub(crate) async fn serve<F>(
    config: ServerConfig,
    answer: impl Fn(TlsStream<TcpStream>) -> F + Send + 'static,
) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/a", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            tokio::spawn(answer(stream));
        }
    });
    url
}
