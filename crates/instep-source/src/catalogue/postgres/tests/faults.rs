//! Servers that are stopped, connections that are lost at each message, and transactions that fail.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use instep_postgres::{Address, Session};
use instep_testkit::{Cutter, PostgresServer, wait_until};

use super::{SCHEMA, found, names, open, sql};
use crate::catalogue::{Catalogue, Observation};

/// Each change is in the log once, in order, and the totals are those of the rows.
fn assert_whole(catalogue: &Catalogue, changes: u64) {
    let snapshot = catalogue.snapshot().unwrap();
    let sequences: Vec<u64> = snapshot.changes(u64::MAX, 0).map(|change| change.unwrap().sequence).collect();
    assert!(sequences.iter().copied().eq(1..=changes), "{} of {changes}", sequences.len());
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}

#[test]
fn a_connection_that_is_lost_at_any_message_costs_nothing_and_repeats_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    for answers_are_lost in [false, true] {
        let cutter = Cutter::before(server.port(), answers_are_lost);
        for message in 1.. {
            let state = tempfile::tempdir().unwrap();
            let source = format!("source={answers_are_lost}-{message}");
            let through = open(state.path(), &format!("{}?{source}", server.url_at(cutter.port))).unwrap();
            through.complete_baseline(1).unwrap();
            through.record(vec![found("old")]).unwrap();
            cutter.cut_at(message);
            let gone = Observation::Gone { key: b"\x01old".to_vec() };
            let recorded = through.record(vec![gone, found("a"), found("b")]).unwrap();
            assert_eq!((recorded.created, recorded.deleted, recorded.sequence), (2, 1, 4), "{source}");
            through.set_meta(vec![("kept".to_owned(), Some(vec![1]))]).unwrap();
            assert_eq!(names(&through), ["a", "b"], "{source}");
            let was_cut = cutter.has_cut();
            cutter.cut_at(0);
            assert_whole(&through, 4);
            assert_eq!(through.meta("kept").unwrap(), Some(vec![1]), "{source}");
            if !was_cut {
                assert!(message > 10, "a record has more messages");
                break;
            }
        }
    }
}

#[cfg(feature = "serve")]
#[test]
fn o508_a_source_that_is_to_end_does_not_wait_for_its_database() {
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let catalogue = open(state.path(), &server.url()).unwrap();
    catalogue.complete_baseline(1).unwrap();
    server.stop_at_once();
    let began = Instant::now();
    let reading = thread::spawn({
        let catalogue = catalogue.clone();
        move || catalogue.meta("kept").is_err()
    });
    catalogue.end_waits();
    assert!(reading.join().unwrap());
    assert!(began.elapsed() < Duration::from_secs(45), "it waited as long as for a failover");
}

#[test]
fn o1093_a_server_that_restarts_while_the_right_of_a_former_publisher_is_watched_is_waited_for() {
    let Some(server) = PostgresServer::start() else { return };
    let [former, next] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    drop(open(former.path(), &server.url()).unwrap());
    sql(&server, "UPDATE source SET token = 'of the dead', folder = 'far away'");
    let (folder, url) = (next.path().to_owned(), server.url());
    let opening = thread::spawn(move || open(&folder, &url).map(drop));
    let session = Session::open(&Address::parse(&server.url()).unwrap()).unwrap();
    let watches = "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%LEFT JOIN beat%' AND pid <> pg_backend_pid()";
    wait_until("the right is watched", || session.one(watches, &[]).unwrap().get::<_, bool>(0));
    server.stop_at_once();
    server.begin();
    opening.join().unwrap().unwrap();
}

#[test]
fn a_server_that_is_stopped_at_once_makes_writer_and_readers_wait() {
    const BATCHES: usize = 60;
    const STOPS: [usize; 3] = [8, 24, 40];
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let catalogue = open(state.path(), &server.url()).unwrap();
    catalogue.complete_baseline(1).unwrap();
    let (sender, committed) = mpsc::channel();
    let writer = catalogue.clone();
    let run = thread::spawn(move || {
        for number in 0..BATCHES {
            let batch = (0..50).map(|index| found(&format!("{number:03}-{index:02}"))).collect();
            writer.record(batch).unwrap();
            // Reads in between come from the same server.
            assert!(writer.resource(format!("\x01{number:03}-49").as_bytes()).unwrap().is_some());
            sender.send(number).unwrap();
        }
    });
    while let Ok(number) = committed.recv() {
        if STOPS.contains(&number) {
            server.stop_at_once();
            server.begin();
        }
    }
    run.join().unwrap();
    assert_whole(&catalogue, 50 * BATCHES as u64);
    // A snapshot goes on over another connection while nothing was recorded.
    let snapshot = catalogue.snapshot().unwrap();
    let mut resources = snapshot.resources(1);
    resources.next().unwrap().unwrap();
    server.stop_at_once();
    server.begin();
    catalogue.set_meta(vec![("kept".to_owned(), Some(vec![1]))]).unwrap();
    assert_eq!(resources.map(Result::unwrap).count(), 50 * BATCHES - 1);
    // And is over if something was.
    server.stop_at_once();
    server.begin();
    catalogue.record(vec![found("later")]).unwrap();
    snapshot.totals(0).unwrap_err();
    assert_eq!(catalogue.snapshot().unwrap().totals(0).unwrap().resources, 50 * BATCHES as u64 + 1);
}

#[test]
fn a_transaction_that_loses_against_another_one_is_tried_again() {
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let catalogue = open(state.path(), &server.url()).unwrap();
    catalogue.complete_baseline(1).unwrap();
    for (number, code) in (1_u64..).zip(["40001", "40P01"]) {
        // Numbers of a sequence are not given back when a transaction ends: the first three fail, whatever it did.
        let lose = format!(
            "DROP SEQUENCE IF EXISTS attempt; CREATE SEQUENCE attempt;
             CREATE OR REPLACE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF nextval('attempt') <= 3 THEN RAISE EXCEPTION 'another one won' USING ERRCODE = '{code}'; END IF;
                 RETURN NULL; END $$;
             DROP TRIGGER IF EXISTS lose ON change;
             CREATE TRIGGER lose AFTER INSERT ON change FOR EACH STATEMENT EXECUTE FUNCTION lose()"
        );
        sql(&server, &lose);
        catalogue.record(vec![found(code)]).unwrap();
        assert_whole(&catalogue, number);
    }
}

#[test]
fn work_that_fails_costs_no_other_work_of_its_transaction() {
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let catalogue = open(state.path(), &server.url()).unwrap();
    catalogue.complete_baseline(1).unwrap();
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.uri LIKE '%bad%' THEN RAISE EXCEPTION 'bad'; END IF; RETURN NEW; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON resource FOR EACH ROW EXECUTE FUNCTION refuse()";
    sql(&server, refuse);
    // Handed over at once, so that they share transactions.
    let begun: Vec<_> = (0..200)
        .map(|number| {
            let name = if number % 7 == 3 { format!("bad {number}") } else { format!("good {number}") };
            let name = name.replace(' ', "-");
            (name.clone(), catalogue.begin_to_record(vec![found(&name)]).unwrap())
        })
        .collect();
    let mut good = 0;
    for (name, begun) in begun {
        let is_good = name.starts_with("good");
        assert_eq!(begun.wait().is_ok(), is_good, "{name}");
        good += u64::from(is_good);
    }
    assert!(names(&catalogue).iter().all(|name| name.starts_with("good")));
    assert_whole(&catalogue, good);
}

#[test]
fn a_name_that_no_index_can_have_is_refused_alone() {
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let catalogue = open(state.path(), &server.url()).unwrap();
    // Not to be compressed: an index would take it then.
    let mut digits = 1_u64;
    let long: String = (0..200)
        .map(|_| {
            digits = digits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{:016x}", digits)
        })
        .collect();
    let most = catalogue.longest_key().unwrap();
    catalogue.record(vec![found(&long[..most - 1])]).unwrap();
    let refused = catalogue.record(vec![found(&long[..most])]).unwrap_err();
    assert!(refused.to_string().contains("2601 bytes"), "{refused}");
    catalogue.record(vec![found("short")]).unwrap();
    assert_eq!(names(&catalogue).len(), 2);
}

#[test]
fn o461_a_server_without_room_is_asked_again_with_pauses() {
    let Some(server) = PostgresServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let catalogue = open(state.path(), &server.url()).unwrap();
    let address = Address::parse(&server.url()).unwrap().beside(SCHEMA).unwrap();
    let session = Session::open(&address).unwrap();
    // Without room (53100), or ended by `statement_timeout` (57014).
    for (number, code) in (1_usize..).zip(["53100", "57014"]) {
        let full = format!(
            "CREATE SEQUENCE IF NOT EXISTS asked; ALTER SEQUENCE asked RESTART;
             CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM nextval('asked'); RAISE EXCEPTION 'no room' USING ERRCODE = '{code}'; END $$;
             CREATE TRIGGER full_disk BEFORE INSERT ON resource FOR EACH STATEMENT EXECUTE FUNCTION full_disk()"
        );
        session.batch(&full).unwrap();
        let begun = Instant::now();
        let recording = catalogue.begin_to_record(vec![found(code)]).unwrap();
        wait_until("it is asked four times", || {
            let asked: i64 = session.one("SELECT last_value FROM asked", &[]).unwrap().get(0);
            asked >= 4
        });
        // The pauses begin with 50 ms and double.
        assert!(begun.elapsed() >= Duration::from_millis(50 + 100 + 200), "asked without pauses");
        session.batch("DROP TRIGGER full_disk ON resource").unwrap();
        recording.wait().unwrap();
        assert_eq!(names(&catalogue).len(), number);
    }
}
