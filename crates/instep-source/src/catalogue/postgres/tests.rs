//! Tests beyond the contract: servers that refuse, fail and come back, and several processes over one Source.

mod faults;
mod processes;
mod shared;

use std::path::Path;

use instep_postgres::{Address, Session};
use instep_store::error_chain;
use instep_testkit::{PostgresServer, free_port};
use resourcesync::Uri;

use super::SCHEMA;
use crate::{
    Error, ErrorKind,
    catalogue::{Catalogue, CatalogueLocation, Observation, Resource, system_clock},
};

/// Runs statements in the schema of the catalogues.
fn sql(server: &PostgresServer, sql: &str) {
    let address = Address::parse(&server.url()).unwrap().beside(SCHEMA).unwrap();
    Session::open(&address).unwrap().batch(sql).unwrap();
}

fn open(state: &Path, url: &str) -> Result<Catalogue, Error> {
    CatalogueLocation::of(state, Some(url), &["http://x/"])?.open(state, system_clock())
}

fn found(name: &str) -> Observation {
    let uri = Uri::parse(&format!("http://x/{name}")).unwrap();
    Observation::Found(Resource::new([b"\x01", name.as_bytes()].concat(), uri))
}

fn names(catalogue: &Catalogue) -> Vec<String> {
    let resources = catalogue.snapshot().unwrap().resources(u64::MAX).map(Result::unwrap).collect::<Vec<_>>();
    resources.iter().map(|resource| String::from_utf8_lossy(&resource.key[1..]).into_owned()).collect()
}

#[test]
fn what_a_server_refuses_is_said_in_a_line_without_the_password() {
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let login =
        |user: &str, database: &str| format!("postgres://{user}@127.0.0.1:{}/{database}", server.port());
    let closed = format!("postgres://locked:wrong@127.0.0.1:{}/copies", free_port().unwrap());
    for (url, kind, words) in [
        (login("locked:wrong", "copies"), ErrorKind::Usage, "password authentication failed"),
        (login("locked:secret", "copies"), ErrorKind::Usage, "permission denied for database copies"),
        (login("instep:secret", "nothing"), ErrorKind::Usage, "database \"nothing\" does not exist"),
        (format!("{}?nonsense=1", server.url()), ErrorKind::Usage, "nonsense"),
        ("sqlite://x".to_owned(), ErrorKind::Usage, "postgres://"),
        (closed, ErrorKind::Storage, "Connection refused"),
    ] {
        let error = open(state.path(), &url).unwrap_err();
        let text = error_chain(&error);
        assert_eq!(error.kind(), kind, "{text}");
        assert!(text.contains(words), "{text}");
        assert!(!text.contains("wrong") && !text.contains("secret") && !text.contains('\n'), "{text}");
    }
    assert!(!CatalogueLocation::is_in(state.path()).unwrap(), "nothing was begun");
}

#[test]
fn tables_of_a_newer_version_or_of_others_are_left_alone() {
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    drop(open(state.path(), &server.url()).unwrap());
    sql(&server, "UPDATE version SET version = 99");
    let newer = open(state.path(), &server.url()).unwrap_err();
    assert!(matches!(newer, Error::NewerCatalogue { found: 99, known: 1, .. }), "{newer}");
    sql(&server, "CREATE SCHEMA other_source; CREATE TABLE other_source.x ()");
    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = open(elsewhere.path(), &format!("{}?schema=other", server.url())).unwrap_err();
    assert!(error_chain(&foreign).contains("not a catalogue of instep"), "{foreign}");
}

#[test]
fn sources_of_one_schema_do_not_see_each_other_and_their_folders_lead_to_them() {
    let Some(server) = PostgresServer::start() else { return };
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let first = open(one.path(), &server.url()).unwrap();
    let second = open(two.path(), &format!("{}?source=second", server.url())).unwrap();
    first.record(vec![found("a")]).unwrap();
    second.record(vec![found("b"), found("c")]).unwrap();
    assert_eq!((names(&first), names(&second)), (vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]));
    assert_eq!(second.snapshot().unwrap().totals(0).unwrap().resources, 2);
    drop((first, second));
    // The folder remembers both URL and name.
    let known = CatalogueLocation::known(two.path()).unwrap();
    assert_eq!(names(&known.beside().unwrap().unwrap()), ["b", "c"]);
    let again = CatalogueLocation::of(two.path(), None, &["http://x/"]).unwrap();
    assert_eq!(names(&again.open(two.path(), system_clock()).unwrap()), ["b", "c"]);
    for other in ["?source=first", "?schema=elsewhere"] {
        let refused = open(two.path(), &format!("{}{other}", server.url())).unwrap_err();
        assert!(error_chain(&refused).contains("name another folder for the state"), "{refused}");
    }
    let file = tempfile::tempdir().unwrap();
    drop(Catalogue::open(&file.path().join("catalogue.db")).unwrap());
    let refused = open(file.path(), &server.url()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Usage, "{refused}");
}

#[test]
fn a_source_that_moves_is_found_by_its_new_base_url_from_any_folder() {
    let Some(server) = PostgresServer::start() else { return };
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let at = |state: &Path, names: &[&str]| CatalogueLocation::of(state, Some(&server.url()), names).unwrap();
    let place = at(one.path(), &["http://x/"]);
    let catalogue = place.open(one.path(), system_clock()).unwrap();
    catalogue.record(vec![found("a")]).unwrap();
    catalogue.rebase("http://x/", "http://y/", Vec::new()).unwrap();
    place.remember(one.path(), &catalogue).unwrap();
    drop(catalogue);
    assert_eq!(names(&CatalogueLocation::known(one.path()).unwrap().beside().unwrap().unwrap()), ["a"]);
    let moved = at(two.path(), &["http://y/", "http://x/"]).open(two.path(), system_clock()).unwrap();
    assert_eq!(names(&moved), ["a"]);
}
