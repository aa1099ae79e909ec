//! A fleet whose record is in a database that outlives it, or does not answer.

use std::cell::Cell;

use instep_postgres::{Address, Session};
use instep_testkit::PostgresServer;

use super::*;
use crate::{fleet::worker_note::WorkerNote, share::LanePause};

/// Opens the fleet that a server has, in a folder.
fn open(server: &PostgresServer, dir: &Path) -> Fleet {
    let mut options = options(dir);
    options.state = Some(server.url());
    Fleet::open(options, &[], Arc::new(Quiet)).unwrap()
}

/// Opens a connection to the tables of the fleet.
fn session(server: &PostgresServer) -> Session {
    Session::open(&Address::parse(&server.url()).unwrap().beside("_fleet").unwrap()).unwrap()
}

fn count(session: &Session, sql: &str) -> i64 {
    session.one(sql, &[]).unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o710_a_pause_of_a_host_that_outlived_all_workers_is_not_kept_once_more() {
    let Some(server) = PostgresServer::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let fleet = open(&server, dir.path());
    let pause = LanePause { number: 7, length: Duration::from_secs(3_600) };
    fleet.0.record.lock().unwrap().begin_pause("https://resting.example", pause).unwrap();
    let session = session(&server);
    assert_eq!(count(&session, "SELECT COUNT(*) FROM lane"), 1);
    until(&fleet, |fleet| !fleet.workers().is_empty()).await;
    assert_eq!(count(&session, "SELECT COUNT(*) FROM lane"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o962_a_process_removes_the_killed_worker_that_had_its_folder_when_it_begins() {
    let Some(server) = PostgresServer::start() else { return };
    let (dir, session) = (tempfile::tempdir().unwrap(), session(&server));
    let mut former = Vec::new();
    for _ in 0..2 {
        let fleet = open(&server, dir.path());
        let workers = Cell::new(0);
        until(&fleet, |fleet| {
            workers.set(fleet.workers().len());
            workers.get() > 0
        })
        .await;
        assert_eq!(workers.get(), 1, "the killed one was there when this one began");
        let (id, _) = WorkerNote::in_folder(dir.path()).former().unwrap();
        assert!(!former.contains(&id));
        former.push(id);
        // The process ended, and removed its worker: back in the record as after a kill.
        let killed = "INSERT INTO worker (id, name, began) VALUES ($1, 'killed', 1)";
        session.execute(killed, &[&id]).unwrap();
    }
    // Nobody knows what became of the worker of another folder.
    let beside = tempfile::tempdir().unwrap();
    let fleet = open(&server, beside.path());
    until(&fleet, |fleet| fleet.workers().len() == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o935_only_a_worker_that_did_not_leave_counts_as_killed() {
    let Some(server) = PostgresServer::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let fleet = open(&server, dir.path());
    assert_eq!(fleet.register_after_former().await.unwrap(), None);
    let (_, process) = fleet.former_worker().unwrap();
    assert_eq!(fleet.register_after_former().await.unwrap(), Some(process));
    fleet.leave().await;
    assert_eq!(fleet.register_after_former().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o711_a_fleet_ends_also_if_its_database_does_not_answer_within_a_connection() {
    let Some(server) = PostgresServer::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let fleet = open(&server, dir.path());
    let (locking, beside) = (session(&server), session(&server));
    let shutdown = Shutdown::new();
    let running = tokio::spawn({
        let (fleet, shutdown) = (fleet.clone(), shutdown.clone());
        async move { fleet.run(shutdown).await }
    });
    locking.begin();
    locking.batch("LOCK TABLE source").unwrap();
    until_so(|| count(&beside, "SELECT COUNT(*) FROM pg_locks WHERE NOT granted") > 0).await;
    shutdown.request();
    timeout(PATIENCE, running).await.unwrap().unwrap().unwrap();
}
