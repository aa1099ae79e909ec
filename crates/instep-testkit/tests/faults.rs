//! The program is killed before every system call that changes something, and each of them fails as a disk can (K1,
//! D41, D42). In a plain run a few points of each scene; with `INSTEP_LONG=1` all of them. Other tests check the order
//! of the calls.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends where its ground is missing, and shows its figures"
)]

#[path = "faults/copies.rs"]
mod copies;
#[path = "faults/durability.rs"]
mod durability;
#[path = "faults/hubs.rs"]
mod hubs;
#[path = "faults/injection.rs"]
mod injection;
#[path = "faults/publications.rs"]
mod publications;

use std::{collections::BTreeSet, env, fs, os::unix::fs::symlink, path::Path, process::Command, thread};

use copies::Copying;
use hubs::Serving;
use injection::{Fault, inject, points};
use instep_testkit::{Run, peers};
use publications::Publishing;
use tempfile::TempDir;

/// Something that the program does, and what must hold however it ends.
trait Scene: Sync {
    fn name(&self) -> &str;

    /// Returns the number of points at which a plain run is killed, and the number of faults that are injected.
    fn sample(&self) -> usize {
        2
    }

    /// Makes the place as it is before the run.
    fn lay_out(&self, place: &Path);

    /// Returns the run that is killed or fails.
    fn command(&self, place: &Path) -> Command;

    /// Makes changes while the program runs, as other programs would.
    fn meanwhile(&self, _: &Path) {}

    /// Returns everything that is wrong after the run, and after the next one.
    fn judge(&self, place: &Path, run: &Run, fault: Fault, number: usize) -> Vec<String>;
}

/// The exit codes that a run whose disk failed may have: everything was done all the same (0), some was not (3), the
/// storage failed (8), or a following run continued until it was terminated.
const DOCUMENTED: [i32; 4] = [0, 3, 8, injection::TERMINATED];

fn is_long() -> bool {
    env::var_os("INSTEP_LONG").is_some()
}

/// Tries the points of a scene.
///
/// # Panics
/// If an invariant is broken anywhere; with all such points.
fn play(scene: &dyn Scene, strace: &Path) {
    let home = TempDir::new().unwrap();
    let first = home.path().join("first");
    scene.lay_out(&first);
    let points = in_company(scene, &first, || points(strace, &scene.command(&first), &first));
    assert!(points.len() >= 20, "{}: {} points", scene.name(), points.len());
    let only = env::var("INSTEP_POINT").ok();
    let kills: Vec<_> = points.iter().map(|point| (point, Fault::Kill)).collect();
    let errors =
        points.iter().flat_map(|point| Fault::errors_at(point).iter().map(move |fault| (point, *fault)));
    let errors: Vec<_> = errors.collect();
    let mut broken = Vec::new();
    let mut counts = [0, 0];
    for (kind, tries) in
        [sample(kills, scene.sample()), sample(errors, scene.sample())].into_iter().enumerate()
    {
        for (number, (point, fault)) in tries.into_iter().enumerate() {
            if only.as_ref().is_some_and(|only| *only != format!("{point} {fault:?}")) {
                continue;
            }
            let place = home.path().join(format!("{kind}-{number}"));
            scene.lay_out(&place);
            let log = home.path().join("log");
            let injected =
                in_company(scene, &place, || inject(strace, &scene.command(&place), point, fault, &log));
            if let Some(run) = injected {
                counts[kind] += 1;
                let mut wrong = Vec::new();
                if fault != Fault::Kill && !run.code.is_some_and(|code| DOCUMENTED.contains(&code)) {
                    wrong.push(format!("exit code {:?}: {}{}", run.code, run.stdout, run.stderr));
                }
                wrong.extend(scene.judge(&place, &run, fault, number));
                if !wrong.is_empty() {
                    broken.push(format!("{}: {point} {fault:?}: {}", scene.name(), wrong.join("; ")));
                }
            }
            fs::remove_dir_all(place).unwrap();
        }
    }
    println!(
        "{}: {} points killed, {} faults injected, {} broken",
        scene.name(),
        counts[0],
        counts[1],
        broken.len()
    );
    assert!(broken.is_empty(), "{} of {counts:?}:\n{}", broken.len(), broken.join("\n"));
    assert!(only.is_some() || counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// Runs something while [`Scene::meanwhile`] makes its changes.
fn in_company<T>(scene: &dyn Scene, place: &Path, run: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let company = scope.spawn(|| scene.meanwhile(place));
        let outcome = run();
        company.join().unwrap();
        outcome
    })
}

/// Returns a few, evenly spread; all of them in a long run.
fn sample<T: Clone>(all: Vec<T>, count: usize) -> Vec<T> {
    if is_long() || env::var_os("INSTEP_POINT").is_some() {
        return all;
    }
    let chosen: BTreeSet<usize> =
        (0..count).map(|number| (2 * number + 1) * all.len() / (2 * count)).collect();
    chosen.into_iter().map(|number| all[number].clone()).collect()
}

/// Copies a folder with the times of its files.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let modified = entry.metadata().unwrap().modified().unwrap();
            fs::File::options().write(true).open(target).unwrap().set_modified(modified).unwrap();
        }
    }
    let permissions = fs::metadata(from).unwrap().permissions();
    fs::set_permissions(to, permissions).unwrap();
}

#[test]
fn k1_a_copy_by_list_survives_every_kill_and_every_fault_of_its_disk() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    play(&Copying::by_list(), &strace);
}

#[test]
fn k1_a_copy_by_dump_survives_every_kill_and_every_fault_of_its_disk() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    play(&Copying::by_dump(), &strace);
}

#[test]
fn k1_a_copy_by_batch_survives_every_kill_and_every_fault_of_its_disk() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    play(&Copying::by_batch(), &strace);
}

#[test]
fn k1_changes_survive_every_kill_and_every_fault_of_the_disk() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    play(&Copying::by_changes(), &strace);
}

#[test]
fn k1_change_dumps_survive_every_kill_and_every_fault_of_the_disk() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    play(&Copying::by_change_dump(), &strace);
}

#[test]
fn k1_patches_survive_every_kill_and_every_fault_of_the_disk() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    play(&Copying::by_patch(), &strace);
}

#[test]
fn k1_following_survives_every_kill_and_every_fault_of_the_disk() {
    let Some([strace]) = peers::find(["strace"]) else { return };
    play(&Copying::following(), &strace);
}

#[test]
fn k1_a_first_publication_survives_every_kill_and_every_fault_of_its_disk() {
    let Some([strace, python]) = peers::find(["strace", "python3"]) else { return };
    play(&Publishing::first(python), &strace);
}

#[test]
fn k1_a_later_publication_survives_every_kill_and_every_fault_of_its_disk() {
    let Some([strace, python]) = peers::find(["strace", "python3"]) else { return };
    play(&Publishing::later(python), &strace);
}

#[test]
fn k1_a_server_and_its_hub_survive_every_kill_and_every_fault_of_their_disk() {
    let Some([strace, python]) = peers::find(["strace", "python3"]) else { return };
    play(&Serving::new(python), &strace);
}
