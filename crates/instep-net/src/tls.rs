//! Trust: which certificates a connection accepts.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::error::HttpError;

/// Returns the certificates in a file, at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, HttpError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read.map_err(|error| unusable_file(path, &error))? {
        none if none.is_empty() => Err(unusable_file(path, &"it has none in PEM format")),
        certificates => Ok(certificates),
    }
}

fn unusable_file(path: &Path, why: &dyn std::fmt::Display) -> HttpError {
    HttpError::Option { what: format!("Cannot use the certificates in {}: {why}", path.display()) }
}

/// Returns a configuration that trusts the system's certificates and those of `ca_file`. The built-in roots of Mozilla
/// are used only if the system has none, so that an operator who removed a root from the system is obeyed.
pub(crate) fn config(ca_file: Option<&Path>) -> Result<ClientConfig, HttpError> {
    let unusable = |what: String| HttpError::Option { what };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(path) = ca_file {
        certificates(path)?
            .into_iter()
            .try_for_each(|own| roots.add(own))
            .map_err(|error| unusable_file(path, &error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
