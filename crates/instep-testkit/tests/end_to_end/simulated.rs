//! Clients against a Source that does not exist and misbehaves.

use std::{path::Path, process::Command};

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
fn a_source_that_misbehaves_is_copied_exactly_in_the_end() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let faults = ["latency=1ms", "error=3%", "truncate=5%", "corrupt=10%"];
    let faults: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).collect();
    let options = [&["--rate", "1/h", "--seed", "3"][..], &faults[..]].concat();
    let source = simulate(&options);
    let by_requests = || {
        let mut command = instep(["sync", &source.url(), "--via", "list", "--retries", "8"]);
        Run::of(command.arg(&copy))
    };
    // What came wrong is owed to the next run.
    assert!((0..20).any(|_| by_requests().code == Some(0)), "it never came in step");
    let right = simulate(&["--rate", "1/h", "--seed", "3"]);
    let _ = sync(&right.url(), &place.path().join("right")).with_code(0);
    assert_eq!(Tree::of(&copy), Tree::of(&place.path().join("right")));
}

#[test]
fn a_source_without_a_resource_list_is_copied_by_its_dump_and_followed() {
    let place = tempfile::tempdir().unwrap();
    let source = simulate(&["--profile", "dbpedia-live", "--rate", "20/s", "--duration", "1h"]);
    let copy = place.path().join("copy");
    let list = Run::of(Command::new("curl").args([
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        &format!("{}resourcesync/resourcelist.xml", source.url()),
    ]));
    assert_eq!(list.stdout, "404");
    let dump = format!("{}resourcesync/capabilitylist.xml", source.url());
    let is_offered = || Run::of(Command::new("curl").args(["-s", &dump])).stdout.contains("resourcedump");
    assert!((0..5_000).any(|_| is_offered()), "no Resource Dump came");
    let held = || Tree::of(&copy).names().len();
    let _ = sync(&source.url(), &copy);
    assert!(held() > 100, "{}", held());
    let before = Tree::of(&copy);
    for _ in 0..100 {
        let _ = sync(&source.url(), &copy);
        if Tree::of(&copy) != before {
            return;
        }
    }
    panic!("no change came");
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
