//! A server with a certificate.

use instep_testkit::PostgresServer;

use super::{copy, refusal};
use crate::{
    error::error_chain,
    state::{ReadFollowed as _, postgres::PostgresState},
};

#[test]
fn a_certificate_is_checked_where_that_is_asked_for() {
    let Some(server) = PostgresServer::start() else { return };
    let Some(certificate) = server.encrypted() else { return };
    let Some(other) = PostgresServer::start() else { return };
    let Some(other_certificate) = other.encrypted() else { return };
    let url = |more: &str| format!("{}?{more}", server.url());
    let verified = format!("sslmode=verify-full&sslrootcert={}", certificate.display());
    let required = format!("sslmode=require&sslrootcert={}", certificate.display());
    for (number, more) in ["", "sslmode=require", &verified, &required].iter().enumerate() {
        let mut state = PostgresState::open(&copy(&url(more), "here")).unwrap();
        let number = number.to_string();
        super::put(&mut state, "opened", &number).unwrap();
        assert_eq!(state.setting("opened").unwrap().as_deref(), Some(&*number));
    }
    let expect = |more: &str, words: &str| {
        let text = error_chain(&refusal(&url(more)));
        assert!(text.contains(words), "{more}: {text}");
    };
    expect("sslmode=disable", "no encryption");
    let imposter = format!("sslmode=verify-full&sslrootcert={}", other_certificate.display());
    expect(&imposter, "invalid peer certificate");
    // The certificate is not signed by an authority that the system trusts.
    expect("sslmode=verify-full", "invalid peer certificate");
    expect("sslmode=verify-full&sslrootcert=/nowhere", "cannot use the certificates in /nowhere");
    // The certificate is for an address, and not for the name.
    let named = url(&verified).replace("127.0.0.1", "localhost");
    let text = error_chain(&refusal(&named));
    assert!(text.contains("invalid peer certificate") || text.contains("Connection refused"), "{text}");
}
