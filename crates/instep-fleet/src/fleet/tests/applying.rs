//! Sources and options that are changed while a fleet runs, by an operator or by SIGHUP.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o718_a_source_is_added_with_its_line_in_the_log_of_actions_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    let file = rusqlite::Connection::open(dir.path().join(".instep/fleet.sqlite")).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END";
    file.execute_batch(full).unwrap();
    let a = SourceDefinition::new(name("a"), "https://a.example/");
    fleet.add(&a, "ada").await.unwrap_err();
    file.execute_batch("DROP TRIGGER full").unwrap();
    fleet.add(&a, "ada").await.unwrap();
    assert!(fleet.source(&name("a")).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o720_a_pause_that_a_host_requested_outlasts_a_new_configuration() {
    let a = with_files(1);
    a.fail_always("capabilitylist.xml", Fault::RetryAfter(503, "600".to_owned()));
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Quiet)).unwrap();
    let mut next = options(dir.path());
    next.alert_after = 7;
    let keeping = until(&fleet, |fleet| fleet.state().options().alert_after == 7);
    let reloading = async {
        until_so(|| !fleet.figures().waiting.is_empty()).await;
        fleet.reload(next, &[source("a", &a)]).await.unwrap();
    };
    tokio::join!(keeping, reloading);
    assert!(!fleet.figures().waiting.is_empty(), "the host would get requests again at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o893_a_pause_outlasts_a_new_configuration_with_the_same_file_of_certificates() {
    let a = with_files(1);
    a.fail_always("capabilitylist.xml", Fault::RetryAfter(503, "600".to_owned()));
    let dir = tempfile::tempdir().unwrap();
    let authority = dir.path().join("ca.pem");
    let certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/../instep-net/tests/data/tls/ca.pem");
    let certificate = std::fs::read_to_string(certificate).unwrap();
    std::fs::write(&authority, &certificate).unwrap();
    let trusting = |alert_after| {
        let mut options = options(dir.path());
        options.access.ca_file = Some(authority.clone());
        options.alert_after = alert_after;
        options
    };
    let fleet = Fleet::open(trusting(1), &[source("a", &a)], Arc::new(Quiet)).unwrap();
    let keeping = until(&fleet, |fleet| fleet.state().options().alert_after == 7);
    let reloading = async {
        until_so(|| !fleet.figures().waiting.is_empty()).await;
        fleet.reload(trusting(7), &[source("a", &a)]).await.unwrap();
    };
    tokio::join!(keeping, reloading);
    assert!(!fleet.figures().waiting.is_empty(), "the host would get requests again at once");
    // Another file under the name is read, and one that is gone is an error.
    std::fs::write(&authority, format!("{certificate}{certificate}")).unwrap();
    fleet.reload(trusting(8), &[source("a", &a)]).await.unwrap();
    assert!(fleet.figures().waiting.is_empty(), "the certificates are those of the former file");
    std::fs::remove_file(&authority).unwrap();
    fleet.reload(trusting(9), &[source("a", &a)]).await.unwrap_err();
}
