//! A fleet in PostgreSQL whose server lets nobody in for a while, or does not answer.

use std::{
    io::Write as _,
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use instep_testkit::{PostgresServer, Run, peers};

use crate::support::{FleetFolder, Running, get};

#[test]
fn o181_a_worker_waits_while_the_server_ends_and_refuses_its_connections() {
    let Some([psql]) = peers::find(["psql"]) else { return };
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    let sql = |text: &str| {
        let url = url.replace("/copies", "/postgres");
        drop(Run::of(Command::new(&psql).args(["-X", "-c", text, &url])).with_code(0));
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

/// A table that a transaction has locked, so that whatever reads it waits.
struct LockedTable {
    psql: PathBuf,
    url: String,
    locking: Child,
}

impl LockedTable {
    fn lock(psql: PathBuf, server: &PostgresServer, table: &str) -> Self {
        let (url, sql) = (server.url(), format!("BEGIN; LOCK TABLE {table}; SELECT pg_sleep(600)"));
        let mut locking = Command::new(&psql);
        locking.args(["-X", "-c", &sql, &url]).stdout(Stdio::null()).stderr(Stdio::null());
        let locked = Self { locking: locking.spawn().unwrap(), psql, url };
        locked.wait_for("granted AND mode = 'AccessExclusiveLock'");
        locked
    }

    /// Waits until somebody waits for the table.
    fn wait_for_reader(&self) {
        self.wait_for("NOT granted");
    }

    /// Waits until there is such a lock.
    fn wait_for(&self, such: &str) {
        instep_testkit::wait_until(such, || {
            let sql = format!("SELECT COUNT(*) FROM pg_locks WHERE {such}");
            let counted = Run::of(Command::new(&self.psql).args(["-X", "-t", "-A", "-c", &sql, &self.url]));
            counted.stdout.trim().parse().is_ok_and(|number: u64| number > 0)
        });
    }
}

impl Drop for LockedTable {
    fn drop(&mut self) {
        let _ = self.locking.kill();
        let _ = self.locking.wait();
    }
}

#[test]
fn o713_a_hangup_while_the_database_does_not_answer_leaves_the_dashboard_as_it_is() {
    let Some([psql]) = peers::find(["psql"]) else { return };
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    fleet.configure("[run]\nruns = 2\n");
    let run = fleet.start(&["--state", &url]);
    let locked = LockedTable::lock(psql, &server, "instep_fleet.source");
    locked.wait_for_reader();
    fleet.configure("[run]\nfleet = \"elsewhere\"\n");
    run.signal("-HUP");
    fleet.wait_for_message("fleet, state and store stay as they are", 1);
    assert_eq!(get(&run, "/metrics").status, 200);
}

#[test]
fn o714_a_server_of_pages_ends_also_if_a_page_waits_for_the_database() {
    let Some([psql]) = peers::find(["psql"]) else { return };
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    let served = Running::source(&fleet.data("data", 1));
    drop(Run::of(&mut fleet.command(&["sync", &served.url, "copy", "--state", &url])).with_code(0));
    let status = ["status", "copy", "--listen", "127.0.0.1:0", "--json"];
    let pages = Running::spawn(&mut fleet.command(&status));
    let locked = LockedTable::lock(psql, &server, "instep.copy");
    let address = pages.url.trim_start_matches("http://").trim_end_matches('/');
    let mut page = TcpStream::connect(address).unwrap();
    write!(page, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    locked.wait_for_reader();
    pages.signal("-TERM");
    assert_eq!(pages.ended(), Some(143));
}

#[test]
fn o970_pages_of_a_fleet_are_answered_while_its_database_hangs_and_say_what_is_missing() {
    let Some([psql]) = peers::find(["psql"]) else { return };
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    let served = Running::source(&fleet.data("data", 1));
    let into = fleet.path("a");
    let words = ["add", &served.url, "--name", "a", "--into", into.to_str().unwrap(), "--state", &url];
    fleet.ends(&words, 0);
    let run = fleet.start(&["--state", &url]);
    instep_testkit::wait_until("it is in step", || {
        fleet.source(&["show", "a", "--state", &url]).stdout.contains(": in-step")
    });
    let _locked = LockedTable::lock(psql, &server, "instep_fleet.look");
    let page = get(&run, "/");
    assert!(page.status == 200 && page.body.contains("The trends are missing"), "{}", page.body);
    let page = get(&run, "/source/a/");
    assert!(
        page.status == 200 && page.body.contains("the documents of this Source are missing"),
        "{}",
        page.body
    );
    assert_eq!(get(&run, "/api/v1/sources/a/looks").status, 503);
}

#[test]
fn o977_a_copy_of_a_fleet_whose_folder_does_not_know_its_state_can_be_exported() {
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    let served = Running::source(&fleet.data("data", 1));
    let into = fleet.path("copy");
    let words = ["add", &served.url, "--name", "a", "--into", into.to_str().unwrap(), "--state", &url];
    fleet.ends(&words, 0);
    let run = fleet.start(&["--state", &url]);
    instep_testkit::wait_until("it is in step", || {
        fleet.source(&["show", "a", "--state", &url]).stdout.contains(": in-step")
    });
    drop(run);
    std::fs::remove_dir_all(into.join(".instep")).unwrap();
    let state = format!("{url}?copy=a");
    let export = |form: &[&str]| {
        let words = [&["export", "copy", "--state", &state][..], form].concat();
        drop(Run::of(&mut fleet.command(&words)).with_code(0));
    };
    export(&["--folder", "files"]);
    export(&["--bagit", "bag"]);
    assert!(fleet.path("files/0.txt").is_file() && fleet.path("bag/data/0.txt").is_file());
}
