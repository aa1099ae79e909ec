//! State files that earlier versions wrote are opened by each later version, and their records are read. A state is
//! durable when it says so.

use std::{env, fs, path::Path, process::Command};

use resourcesync::{Change, DateTime};

use super::{SqliteState, by_origin};
use crate::{
    discover::Way,
    map::CopyPath,
    plan::DesiredPresence,
    records::way,
    state::{
        CopyState, HeldAt, KEPT_POINTS, Ledger, Operation, PackTotals, ReachedPoint, ReadHeld as _,
        ReadLog as _, StatePlace, WriteGroups as _, WriteRecords as _,
    },
};

/// Opens a copy of a golden file, so that the file itself stays unchanged.
fn open(version: &str) -> (Box<dyn CopyState>, tempfile::TempDir) {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(version).join("state.sqlite");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.sqlite");
    fs::copy(golden, &path).unwrap();
    (StatePlace::open_file(&path).unwrap(), folder)
}

#[test]
fn the_state_of_0_1_0_is_taken_up_with_all_that_it_says() {
    let (state, _folder) = open("state-0.1.0");
    let held: Vec<_> = state.held_after(None, 100).unwrap();
    let uris: Vec<_> = held.iter().map(|held| held.uri.as_str().rsplit_once(':').unwrap().1).collect();
    assert_eq!(
        uris,
        [
            "8197/h.txt",
            "8198/a.txt",
            "8198/b.json",
            "8198/f.txt",
            "8198/letters/c.html",
            "8198/letters/e.txt"
        ]
    );
    let a = &held[1];
    assert_eq!((a.path.as_str(), a.metadata.length), ("a.txt", Some(5)));
    assert_eq!(
        a.metadata.digests.to_string(),
        "sha-256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"
    );
    assert_eq!(a.metadata.lastmod.unwrap().to_string(), "2026-11-22T08:40:08.886495Z");
    assert_eq!(a.metadata.links.iter().filter(|link| link.rel.as_str() == "timegate").count(), 1);

    let sets = state.sets().unwrap();
    assert_eq!(sets.len(), 2);
    let reached = state.checkpoint(sets[0].0).unwrap().unwrap();
    assert_eq!(reached.datetime.unwrap().to_string(), "2026-11-22T08:40:41.099080Z");
    let last = reached.last.unwrap();
    assert_eq!((last.uri.as_str(), last.change), ("http://127.0.0.1:8198/f.txt", Change::Created));
    assert_eq!(reached.position, 6);

    let owed = state.owed_after(sets[1].0, None, 10).unwrap();
    assert_eq!(owed.len(), 1);
    assert_eq!(
        (owed[0].desired.uri.as_str(), owed[0].desired.presence),
        ("http://127.0.0.1:8197/g.txt", DesiredPresence::Present)
    );
    let (run, problems) = state.last_ended_run(None).unwrap().unwrap();
    assert_eq!((run.what.as_str(), run.exit_code, problems.len()), ("list", Some(3), 1));
    assert_eq!(state.setting("base").unwrap().as_deref(), Some("http://127.0.0.1:8198/"));
}

#[test]
fn b25_the_sources_of_a_copy_of_format_7_are_told_apart() {
    let (mut state, _folder) = open("state-7");
    let [one, other] = ["http://127.0.0.1:18231/", "http://127.0.0.1:18232/"];
    // The last run was over this Source: its set, the runs and the way belong to it. The Source of the other set is
    // known when that is found.
    let sources = state.sources().unwrap();
    assert_eq!(sources.iter().map(|(_, url)| &**url).collect::<Vec<_>>(), [other]);
    let (source, sets) = (sources[0].0, state.sets().unwrap());
    assert_eq!(state.sets_of(source).unwrap(), [sets[1].0]);
    assert_eq!(state.last_ended_run(Some(source)).unwrap().unwrap().0.exit_code, Some(0));
    assert_eq!(way::read(&*state, source).unwrap(), Some(Way::WellKnown));

    let found = state.found_source(one, &[sets[0].0]).unwrap();
    assert_eq!(state.sets_of(found).unwrap(), [sets[0].0]);
    assert_eq!(state.sources().unwrap().len(), 2);
    assert_eq!(state.last_ended_run(Some(found)).unwrap(), None);
    // Another URL of a Source adds no Source, and two URLs that lead to the same sets become one Source.
    assert_eq!(state.found_source(sets[0].1.as_str(), &[sets[0].0]).unwrap(), found);
    assert_eq!(state.found_source(other, &[sets[0].0, sets[1].0]).unwrap(), source);
    assert_eq!(state.sources().unwrap(), [(source, other.to_owned())]);
}

#[test]
fn a_copy_of_format_9_notes_how_far_it_is_from_its_next_run_on() {
    let (mut state, _folder) = open("state-9");
    let sets: Vec<_> = state.sets().unwrap().into_iter().map(|(set, _)| set).collect();
    let reached = state.reached(&sets).unwrap().unwrap();
    assert_eq!(reached.to_string(), "2026-11-23T07:10:40.374010Z");
    let beginning = DateTime::from_unix_seconds(0);
    assert_eq!(state.reached_since(beginning).unwrap(), []);
    let point = ReachedPoint::new(DateTime::from_unix_micros(1_795_417_860_000_000), reached);
    state.note_reached(point).unwrap();
    assert_eq!(state.reached_since(beginning).unwrap(), [point]);
}

#[test]
fn a_copy_of_formats_11_and_12_has_its_bytes_where_they_were() {
    for (version, is_racy) in [("state-11", false), ("state-12", true)] {
        let (state, _folder) = open(version);
        let place = |path: &str| {
            let path = CopyPath::from_state(path).unwrap();
            let held = state.held_at(&path).unwrap().unwrap();
            let HeldAt::Object { key, offset, length } = held.place else { panic!("{path}") };
            (key, offset, length, held.is_racy)
        };
        let pack = |number: &str| format!("packs/67beb12f1dbc2952/{number}-000000.warc.gz").into_boxed_str();
        assert_eq!(place("a.txt"), (pack("756e32148c6970cb"), 0, 316, false), "{version}");
        // Version 11 did not record which resources are racy, so they are not.
        assert_eq!(place("d/b.html"), (pack("3cefad428a7ee977"), 952, 316, is_racy), "{version}");
        assert_eq!(place("large.bin").2, 1_500_000);
        let totals = PackTotals { objects: 3, bytes: 1_501_584, dead: 632 };
        assert_eq!(state.pack_totals().unwrap(), totals, "{version}");
        assert_eq!(state.setting("store").unwrap().as_deref(), Some("s3://library/gold"));
        assert!(state.begun_packs().unwrap().is_empty() && state.intents().unwrap().is_empty());
        let (run, _) = state.last_ended_run(None).unwrap().unwrap();
        assert_eq!((run.what.as_str(), run.exit_code), ("list", Some(0)));
    }
}

#[test]
fn the_points_of_a_copy_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = SqliteState::open(&folder.path().join("state.sqlite")).unwrap();
    let at = |seconds: i64| DateTime::from_unix_micros(seconds * 1_000_000);
    let point = |seconds| ReachedPoint::new(at(seconds), at(seconds - 5));
    state.connection.execute_batch("BEGIN").unwrap();
    for minute in 0..KEPT_POINTS + 3 {
        state.note_reached(point(minute * 60)).unwrap();
    }
    state.connection.execute_batch("COMMIT").unwrap();
    let all = state.reached_since(at(0)).unwrap();
    assert_eq!((all.len() as i64, all[0]), (KEPT_POINTS, point(3 * 60)));
}

#[test]
fn a_part_of_an_object_keeps_its_place_in_the_copy_of_a_state_and_is_dead_once_its_resource_has_another_version()
 {
    let (_, folder) = open("state-9");
    let mut state = SqliteState::open(&folder.path().join("state.sqlite")).unwrap();
    let held = state.held_after(None, 1).unwrap().remove(0);
    assert_eq!(held.place, HeldAt::Path, "a resource of before lies under its path");
    state.connection.execute("INSERT INTO pack (key, bytes) VALUES ('packs/a b.warc.gz', 100)", []).unwrap();
    let dead = |state: &SqliteState| -> i64 {
        state.connection.query_row("SELECT dead FROM pack", [], |row| row.get(0)).unwrap()
    };
    let place = HeldAt::Object { key: "packs/a b.warc.gz".into(), offset: 7, length: 40 };
    let version = |place: &HeldAt| Operation::Place {
        uri: held.uri.clone(),
        path: held.path.clone(),
        key: None,
        staged: 1,
        sets: 1,
        metadata: held.metadata.clone(),
        replaces: true,
        place: place.clone(),
    };
    state.commit_group(None, &[&[version(&place)]], &Ledger::default()).unwrap();
    assert_eq!(state.held(held.uri.as_str()).unwrap().unwrap().place, place);
    assert_eq!(state.files_after("", 1).unwrap()[0].place, place);
    let origins = by_origin(&state, &folder.path().join("origins.sqlite")).unwrap();
    assert_eq!(origins.held_after(None, 1).unwrap()[0].place, place);
    assert_eq!(dead(&state), 0);

    let next = HeldAt::Object { key: "packs/a b.warc.gz".into(), offset: 47, length: 50 };
    state.commit_group(None, &[&[version(&next)]], &Ledger::default()).unwrap();
    assert_eq!(dead(&state), 40);
    let removal = Operation::Remove { uri: held.uri.clone(), path: held.path.clone(), staged: 2 };
    state.commit_group(None, &[&[removal]], &Ledger::default()).unwrap();
    assert_eq!((dead(&state), state.held(held.uri.as_str()).unwrap()), (90, None));
}

const STATE: &str = "INSTEP_TEST_READ_STATE";
const MAKES_DURABLE: &str = "INSTEP_TEST_MAKES_DURABLE";

/// Runs under `strace`; it is not a test by itself. A reader keeps the log from being merged.
#[test]
fn child() {
    let Some(path) = env::var_os(STATE) else { return };
    let path = Path::new(&path);
    let mut state = SqliteState::open(path).unwrap();
    state.set_setting("first", "value").unwrap();
    state.make_durable().unwrap();
    let reader = SqliteState::open_beside(path).unwrap();
    reader.connection.execute_batch("BEGIN").unwrap();
    assert_eq!(reader.held_count().unwrap(), 0);
    state.set_setting("second", "value").unwrap();
    if env::var_os(MAKES_DURABLE).is_some() {
        state.make_durable().unwrap();
    }
}

/// Returns the number of times that the child waits for the disk to have the log; `None` without `strace`.
fn waits_for_the_log(variables: &[&str]) -> Option<usize> {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&trace)
        .arg(env::current_exe().unwrap())
        .args(["--exact", "state::sqlite::tests::child", "--nocapture"])
        .env(STATE, folder.path().join("state.sqlite"))
        .envs(variables.iter().map(|name| (name, "1")))
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = fs::read_to_string(trace).unwrap();
    Some(trace.lines().filter(|line| line.contains("sync(") && line.contains("-wal>")).count())
}

#[test]
fn o860_a_state_is_made_durable_beside_a_reader_too() {
    let (Some(without), Some(with)) = (waits_for_the_log(&[]), waits_for_the_log(&[MAKES_DURABLE])) else {
        assert!(env::var("CI").is_err(), "strace is missing");
        eprintln!("left out, strace is missing: o860_a_state_is_made_durable_beside_a_reader_too");
        return;
    };
    assert!(with > without, "{with} waits for the log, and {without} without the call");
}
