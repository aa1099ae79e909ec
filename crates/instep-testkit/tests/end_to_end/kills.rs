//! The program is killed, again and again, while it follows a Source that keeps changing (D42, K1).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use instep_testkit::{FakeSource, Run, Tree, compare, instep};
use tempfile::TempDir;

/// Resources of the Source.
const RESOURCES: usize = 60;
/// Resources that change in a round.
const CHANGES: usize = 12;
/// The number of milliseconds within which a run is killed.
const KILLED_WITHIN: u64 = 250;

/// A Source, a copy, and every state that each resource ever had.
struct Followed {
    source: FakeSource,
    folder: TempDir,
    states: BTreeMap<String, BTreeSet<Vec<u8>>>,
    number: usize,
}

impl Followed {
    fn new() -> Self {
        let source = FakeSource::start();
        let mut followed =
            Self { source, folder: TempDir::new().unwrap(), states: BTreeMap::new(), number: 0 };
        (0..RESOURCES).for_each(|_| followed.change());
        followed.source.snapshot();
        followed
    }

    /// Changes or deletes the next resource.
    fn change(&mut self) {
        self.number += 1;
        let at = self.number * 7 % RESOURCES;
        let path = format!("d{}/{at}.txt", at % 5);
        if self.number.is_multiple_of(11) && self.states.contains_key(&path) {
            return self.source.delete(&path);
        }
        let text = format!("{path} {}\n", self.number).repeat(1 + self.number % 400).into_bytes();
        self.states.entry(path.clone()).or_default().insert(text.clone());
        self.source.put(&path, text);
    }

    fn sync(&self) -> Command {
        let mut command = instep(["sync", "--delete", "--max-delete", "100%", "--allow-empty", "-q"]);
        command.arg(self.source.url("")).arg("copy").current_dir(self.folder.path());
        command
    }

    fn start(&self) -> Child {
        self.sync().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Asserts that every file is one of the states of its resource, to the last byte.
    fn assert_whole(&self, round: usize) {
        let copy = self.folder.path().join("copy");
        for path in Tree::of(&copy).names() {
            let bytes = fs::read(copy.join(path)).unwrap();
            let is_state = self.states.get(path).is_some_and(|states| states.contains(&bytes));
            assert!(is_state, "round {round}: {path} is no state that it ever had ({} bytes)", bytes.len());
        }
    }

    /// Asserts that everything the state records as held is there.
    fn assert_true(&self, round: usize) {
        let mut audit = instep(["audit", "--offline"]);
        let run = Run::of(audit.arg("copy").current_dir(self.folder.path()));
        assert_eq!(run.code, Some(0), "round {round}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn d42_a_run_that_is_killed_at_any_instant_corrupts_nothing_and_loses_no_change() {
    let rounds = if std::env::var_os("INSTEP_LONG").is_some() { 1_000 } else { 100 };
    let mut followed = Followed::new();
    for round in 0..rounds {
        (0..CHANGES / 2).for_each(|_| followed.change());
        let mut run = followed.start();
        (0..CHANGES / 2).for_each(|_| followed.change());
        if round % 50 == 49 {
            followed.source.rotate();
            followed.source.snapshot();
        }
        // Not a wait for a condition: the run must be killed at a random moment.
        thread::sleep(Duration::from_millis(rand::random_range(0..KILLED_WITHIN)));
        run.kill().unwrap();
        run.wait().unwrap();
        followed.assert_whole(round);
        if round % 10 == 9 {
            followed.assert_true(round);
        }
    }
    let run = Run::of(&mut followed.sync());
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let truth = TempDir::new().unwrap();
    followed.source.write_to(truth.path()).unwrap();
    assert_eq!(compare(truth.path(), &followed.folder.path().join("copy")), [""; 0]);
    followed.assert_true(rounds);
}
