//! A fleet in PostgreSQL whose server lets nobody in for a while.

use instep_testkit::{PostgresServer, Run, peers};

use crate::support::{FleetFolder, Running};

#[test]
fn o181_a_worker_waits_while_the_server_ends_and_refuses_its_connections() {
    let Some([psql]) = peers::find(["psql"]) else { return };
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    let sql = |text: &str| {
        let url = url.replace("/copies", "/postgres");
        drop(Run::of(std::process::Command::new(&psql).args(["-X", "-c", text, &url])).with_code(0));
    };
    let served = Running::source(&fleet.data("data", 1));
    let add = |name: &str| {
        let into = fleet.path(name);
        let words = ["add", &served.url, "--name", name, "--into", into.to_str().unwrap(), "--state", &url];
        fleet.ends(&words, 0);
    };
    let in_step = |name: &str| {
        instep_testkit::wait_until("it is in step", || {
            fleet.source(&["show", name, "--state", &url]).stdout.contains(": in-step")
        });
    };
    add("a");
    let mut run = fleet.start(&["--state", &url]);
    in_step("a");
    sql("ALTER DATABASE copies ALLOW_CONNECTIONS false");
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'copies'");
    fleet.wait_for_message("Waiting for the record of the fleet", 1);
    sql("ALTER DATABASE copies ALLOW_CONNECTIONS true");
    add("b");
    in_step("b");
    assert!(run.child.try_wait().unwrap().is_none());
}

#[test]
fn o178_a_worker_that_cannot_find_the_bytes_of_a_source_is_not_started() {
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    fleet.ends(&["add", "https://a.example/", "--name", "a", "--state", &url], 0);
    let run = Run::of(&mut fleet.command(&["run", "--state", &url])).with_code(2);
    assert!(run.stderr.contains("Source a: its state is shared and its bytes are not"), "{}", run.stderr);
    assert!(!fleet.source(&["show", "a", "--state", &url]).stdout.contains("failing"));
}
