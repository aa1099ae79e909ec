//! TLS by rustls. Certificates can be renewed without a restart.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::Error;

/// A certificate and its key, read again when asked to. Clones share them.
#[derive(Clone, Debug)]
pub struct Tls {
    certificate: Arc<Path>,
    key: Arc<Path>,
    current: Arc<RwLock<Arc<ServerConfig>>>,
}

impl Tls {
    /// Reads a certificate chain and its key, both in PEM.
    ///
    /// # Errors
    /// If one cannot be read, or they do not belong together.
    pub fn open(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, Error> {
        let (certificate, key) = (certificate.into(), key.into());
        let current = Arc::new(RwLock::new(read(&certificate, &key)?));
        Ok(Self { certificate: certificate.into(), key: key.into(), current })
    }

    /// Reads both files again; new connections use them. The old ones stay in use when this fails.
    ///
    /// # Errors
    /// As for [`Tls::open`].
    pub fn reload(&self) -> Result<(), Error> {
        let renewed = read(&self.certificate, &self.key)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> std::io::Result<TlsStream<S>> {
        let config = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner));
        TlsAcceptor::from(config).accept(stream).await
    }
}

/// Describes the fault of a file that should hold `what`: it cannot be read, or it holds something else.
fn fault(what: &str, error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => format!("cannot be read: {error}"),
        other => format!("is not a {what}: {other}"),
    }
}

/// Describes why a chain cannot be used with a key.
fn of_pair(error: &rustls::Error, key: &Path) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            format!("the key in {} is not that of this certificate", key.display())
        }
        rustls::Error::NoCertificatesPresented => "it has no certificate".to_owned(),
        other => other.to_string(),
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, Error> {
    let wrong = |path: &Path, what: String| {
        Error::option(
            "TLS",
            format!("{}: {what}. Give a certificate chain and its key, both in PEM", path.display()),
        )
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(certificate, fault("certificate", &error)))?;
    let secret =
        PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, fault("private key", &error)))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(certificate, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| wrong(certificate, of_pair(&error, key)))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
