//! Clients against a Source that does not exist and misbehaves.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use instep_testkit::{Run, Server, Tree, free_port, instep, peers};

fn simulate(options: &[&str]) -> Server {
    let port = free_port().unwrap();
    let listen = format!("127.0.0.1:{port}");
    let mut command = instep(["simulate", "--listen", &listen, "--resources", "150"]);
    Server::start(command.args(options), port).unwrap()
}

fn sync(url: &str, copy: &Path) -> Run {
    Run::of(instep(["sync", url]).arg(copy).args(["--delete", "--max-delete", "100%"]))
}

#[test]
fn the_same_seed_serves_the_same_resources_and_another_seed_others() {
    let place = tempfile::tempdir().unwrap();
    let copy_of = |name: &str, seed: &str| {
        let source = simulate(&["--rate", "1/h", "--seed", seed]);
        let copy = place.path().join(name);
        let _ = sync(&source.url(), &copy).with_code(0);
        Tree::of(&copy)
    };
    let one = copy_of("one", "1");
    assert_eq!(one.names().len(), 150);
    assert_eq!(one, copy_of("again", "1"));
    assert_ne!(one, copy_of("other", "2"));
}

#[test]
fn the_reference_client_copies_a_simulated_source() {
    let Some([resync]) = peers::find(["resync-sync"]) else { return };
    let place = tempfile::tempdir().unwrap();
    let source = simulate(&["--rate", "1/h"]);
    let (theirs, ours) = (place.path().join("theirs"), place.path().join("ours"));
    let mut command = Command::new(resync);
    command
        .args(["--baseline", "--spec-version", "1.1", "--verbose"])
        .arg(source.url().trim_end_matches('/'));
    let run = Run::of(command.arg(&theirs).current_dir(place.path()));
    assert!(run.stderr.contains("SYNCED"), "{}", run.stderr);
    let _ = sync(&source.url(), &ours).with_code(0);
    assert_eq!(Tree::of(&theirs), Tree::of(&ours));
}

/// Changes that each of these Sources goes through.
const CHANGES: &str = "60";

/// The content of a Source after its changes, whatever goes wrong on the way.
fn truth(place: &Path) -> Tree {
    let source = simulate(&["--rate", "1/h", "--past-changes", CHANGES]);
    let copy = place.join("truth");
    let _ = sync(&source.url(), &copy).with_code(0);
    Tree::of(&copy)
}

/// `sync --follow`, which says each change after its commit; ends when dropped.
struct Follower {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Follower {
    fn start(url: &str, copy: &Path) -> Self {
        let mut command =
            instep(["sync", url, "--delete", "--max-delete", "100%", "--follow", "--events", "-"]);
        let command = command.arg(copy).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    /// Waits until a copy is as it must become.
    fn wait_for(&self, copy: &Path, truth: &Tree) {
        while Tree::of(copy) != *truth {
            let change = self.lines.recv_timeout(Duration::from_secs(60));
            assert!(
                change.is_ok(),
                "it stands still; {} of {}",
                Tree::of(copy).names().len(),
                truth.names().len()
            );
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(Command::new("kill").arg(self.child.id().to_string()).status());
        drop(self.child.wait());
    }
}

fn comes_to_the_truth_in_spite_of(faults: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let (truth, copy) = (truth(place.path()), place.path().join("copy"));
    let mut options = vec!["--rate", "30/s", "--changes", CHANGES];
    options.extend(faults.iter().flat_map(|fault| ["--fault", fault]));
    let source = simulate(&options);
    Follower::start(&source.url(), &copy).wait_for(&copy, &truth);
}

#[test]
fn who_follows_comes_to_the_truth_in_spite_of_latency() {
    comes_to_the_truth_in_spite_of(&["latency=30ms"]);
}

#[test]
fn who_follows_comes_to_the_truth_in_spite_of_errors() {
    comes_to_the_truth_in_spite_of(&["error=3%"]);
}

#[test]
fn who_follows_comes_to_the_truth_in_spite_of_ends_in_the_middle() {
    comes_to_the_truth_in_spite_of(&["truncate=20%"]);
}

#[test]
fn who_follows_comes_to_the_truth_in_spite_of_wrong_bytes() {
    comes_to_the_truth_in_spite_of(&["corrupt=20%"]);
}

#[test]
fn who_follows_comes_to_the_truth_in_spite_of_restarts() {
    comes_to_the_truth_in_spite_of(&["restart=1s"]);
}

#[test]
fn who_follows_comes_to_the_truth_in_spite_of_all_of_it() {
    comes_to_the_truth_in_spite_of(&["latency=5ms", "error=1%", "truncate=5%", "corrupt=5%", "restart=2s"]);
}

#[test]
fn who_meets_a_gap_in_the_changes_comes_to_the_truth() {
    let place = tempfile::tempdir().unwrap();
    let (truth, copy) = (truth(place.path()), place.path().join("copy"));
    let pace = ["--burst", "30", "--burst-every", "2s", "--changes", CHANGES];
    let gaps = ["--list-entries", "5", "--fault", "gap=1"];
    let source = simulate(&[&pace[..], &gaps].concat());
    let _ = sync(&source.url(), &copy).with_code(0);
    // Each burst closes the lists that would report it. A run may still come between two documents of one burst, and then
    // applies changes without a gap: the runs after it meet one.
    let mut runs = (0..1_000).map(|_| sync(&source.url(), &copy));
    assert!(runs.any(|run| run.stderr.contains("a gap")), "no run met a gap");
    Follower::start(&source.url(), &copy).wait_for(&copy, &truth);
}

/// Waits until a document says something.
fn until(url: &str, what: &str) {
    for _ in 0..5_000 {
        if Run::of(Command::new("curl").args(["-sf", url])).stdout.contains(what) {
            return;
        }
    }
    panic!("{url} never says {what}");
}

#[test]
fn the_profile_of_dbpedia_is_copied_by_its_dump_and_followed_by_patches() {
    let place = tempfile::tempdir().unwrap();
    let (truth, copy) = (place.path().join("truth"), place.path().join("copy"));
    let profile = |options: &[&str]| {
        let source = simulate(&[&["--profile", "dbpedia-live"], options].concat());
        until(&format!("{}resourcesync/capabilitylist.xml", source.url()), "resourcedump.xml");
        source
    };
    let at_its_end = profile(&["--rate", "1/h", "--past-changes", CHANGES]);
    let _ = sync(&at_its_end.url(), &truth).with_code(0);
    let source = profile(&["--rate", "20/s", "--changes", CHANGES]);
    let list = Run::of(
        Command::new("curl").args(["-sf", &format!("{}resourcesync/capabilitylist.xml", source.url())]),
    );
    assert!(
        !list.stdout.contains("resourcelist.xml") && list.stdout.contains("changedump.xml"),
        "{}",
        list.stdout
    );
    Follower::start(&source.url(), &copy).wait_for(&copy, &Tree::of(&truth));
    until(&format!("{}resourcesync/changelist-000001.xml", source.url()), "application/vcdiff");
}
