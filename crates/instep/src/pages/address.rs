//! Opens the address at which the pages of a copy or a fleet are served.

use instep_source::Error;
use tokio::net::TcpListener;

/// Listens on an address.
///
/// Errors: the address cannot be used. The error is the same as for a Source, so that it gets the same exit code and
/// advice (P12).
pub(super) async fn listen(address: &str) -> Result<TcpListener, Error> {
    let failed = |source| Error::Listen { address: address.to_owned(), source };
    TcpListener::bind(address).await.map_err(failed)
}
