//! State files of earlier versions, as those versions wrote them: each later version opens them, and reads what they say.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::{fs, path::Path};

use instep_destination::plan::DesiredPresence;
use instep_destination::state::State;
use resourcesync::Change;

/// Opens a copy of a golden file: the file itself stays as that version left it.
fn open(version: &str) -> (State, tempfile::TempDir) {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(version).join("state.sqlite");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.sqlite");
    fs::copy(golden, &path).unwrap();
    (State::open(&path).unwrap(), folder)
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
    assert_eq!((a.path.as_str(), a.facts.length), ("a.txt", Some(5)));
    assert_eq!(
        a.facts.digests.to_string(),
        "sha-256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"
    );
    assert_eq!(a.facts.lastmod.unwrap().to_string(), "2026-11-22T08:40:08.886495Z");
    assert_eq!(a.facts.links.iter().filter(|link| link.rel.as_str() == "timegate").count(), 1);

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
    let (run, problems) = state.last_ended_run().unwrap().unwrap();
    assert_eq!((run.what.as_str(), run.exit_code, problems.len()), ("list", Some(3), 1));
    assert_eq!(state.setting("base").unwrap().as_deref(), Some("http://127.0.0.1:8198/"));
}
