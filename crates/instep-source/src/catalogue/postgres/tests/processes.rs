//! Several processes over one Source: one writes at a time.

use std::{thread, time::Duration};

use instep_testkit::PostgresServer;

use super::{super::writer::CERTAIN_FOR, found, names, open, sql};
use crate::{Error, ErrorKind};

#[test]
fn one_process_at_a_time_writes_a_source() {
    let Some(server) = PostgresServer::start() else { return };
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = open(here.path(), &server.url()).unwrap();
    first.record(vec![found("a")]).unwrap();
    // On another machine: its beat shows that it lives.
    let refused = open(elsewhere.path(), &server.url()).unwrap_err();
    let Error::Locked { holder, .. } = &refused else { panic!("{refused}") };
    assert!(holder.contains(&format!("process {}", std::process::id())), "{refused}");
    first.record(vec![found("b")]).unwrap();
    // Who has the lock of the folder knows that the process before is dead. If it was not, it writes nothing more.
    let second = open(here.path(), &server.url()).unwrap();
    let refused = Error::from(first.record(vec![found("of-a-zombie")]).unwrap_err());
    assert_eq!(refused.kind(), ErrorKind::Locked, "{refused}");
    drop(first);
    second.record(vec![found("c")]).unwrap();
    drop(second);
    // Given back: nobody waits.
    let third = open(elsewhere.path(), &server.url()).unwrap();
    assert_eq!(names(&third), ["a", "b", "c"]);
    drop(third);
    // A process that was killed on another machine: its beat rests.
    sql(&server, "UPDATE source SET token = 'of the dead', folder = 'far away'");
    let fourth = open(here.path(), &server.url()).unwrap();
    fourth.record(vec![found("d")]).unwrap();
    assert_eq!(names(&fourth), ["a", "b", "c", "d"]);
}

#[test]
fn a_process_that_lost_the_right_is_told_so_before_it_delivers() {
    let Some(server) = PostgresServer::start() else { return };
    let here = tempfile::tempdir().unwrap();
    let first = open(here.path(), &server.url()).unwrap();
    first.confirm().unwrap();
    let taken = "UPDATE source SET token = 'of another'; UPDATE beat SET token = 'of another'";
    sql(&server, taken);
    // The last heartbeat is recent: until it is older, no other process may have taken the right.
    first.confirm().unwrap();
    // Only time makes it older.
    thread::sleep(CERTAIN_FOR + Duration::from_secs(1));
    let refused = Error::from(first.confirm().unwrap_err());
    assert_eq!(refused.kind(), ErrorKind::Locked, "{refused}");
}
