//! Trust: which certificates a connection accepts.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::error::HttpError;

/// The name of HTTP/1.1 in the choice of a protocol by TLS.
pub(crate) const HTTP_1: &[u8] = b"http/1.1";

/// Reads the certificates of a file that the operator trusts too.
///
/// # Errors
/// If the file cannot be read, has none in PEM format, or one of them cannot be used.
pub(crate) fn trusted_in(path: &Path) -> Result<Vec<CertificateDer<'static>>, HttpError> {
    let failed = |error: &dyn std::fmt::Display| HttpError::Option {
        what: format!("Cannot use the certificates in {}: {error}", path.display()),
    };
    let read = CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))?;
    let certificates = read.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
    if certificates.is_empty() {
        return Err(failed(&"it has none in PEM format"));
    }
    with_trusted(&mut RootCertStore::empty(), &certificates).map_err(|error| failed(&error))?;
    Ok(certificates)
}

fn with_trusted(roots: &mut RootCertStore, trusted: &[CertificateDer<'static>]) -> Result<(), rustls::Error> {
    trusted.iter().try_for_each(|certificate| roots.add(certificate.clone()))
}

/// Returns a configuration that trusts the system's certificates and those of the operator. The built-in roots of Mozilla
/// are used only if the system has none, so that an operator who removed a root from the system is obeyed.
pub(crate) fn config(trusted: &[CertificateDer<'static>]) -> Result<ClientConfig, HttpError> {
    let unusable = |error: rustls::Error| HttpError::Option { what: error.to_string() };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    with_trusted(&mut roots, trusted).map_err(unusable)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), HTTP_1.to_vec()];
    Ok(config)
}
