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
