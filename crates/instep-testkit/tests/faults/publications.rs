//! A folder that is published while the program is killed or its disk fails.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{Run, instep};
use tempfile::TempDir;

use crate::{Scene, copy_tree, injection::Fault};

/// A folder before it is published, for the first time or again.
pub(crate) struct Publishing {
    name: &'static str,
    template: TempDir,
    python: PathBuf,
}

const BASE: &str = "http://source.example.org/";

impl Publishing {
    pub(crate) fn first(python: PathBuf) -> Self {
        let publishing = Self { name: "first publication", template: TempDir::new().unwrap(), python };
        let files = publishing.template.path().join("files");
        fs::create_dir_all(files.join("d")).unwrap();
        for number in 0..8 {
            fs::write(files.join(format!("d/{number}.txt")), format!("text {number}\n").repeat(100)).unwrap();
        }
        fs::write(files.join("a.json"), format!("{{\"a\": 1, \"b\": \"{}\"}}", "x".repeat(200))).unwrap();
        publishing
    }

    pub(crate) fn later(python: PathBuf) -> Self {
        let publishing = Self { name: "later publication", ..Self::first(python) };
        let place = publishing.template.path();
        drop(Run::of(&mut publish(place)).with_code(0));
        let files = place.join("files");
        for number in 0..3 {
            fs::write(files.join(format!("d/{number}.txt")), format!("changed {number}\n").repeat(90))
                .unwrap();
        }
        fs::write(files.join("a.json"), format!("{{\"a\": 2, \"b\": \"{}\"}}", "x".repeat(200))).unwrap();
        fs::write(files.join("new.txt"), "new").unwrap();
        fs::remove_file(files.join("d/7.txt")).unwrap();
        publishing
    }

    fn verify(&self, place: &Path, options: &[&str]) -> Run {
        let mut command = Command::new(&self.python);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/oracle/verify.py"));
        command.args(["--base", BASE, "--root", "files"]).args(options);
        Run::of(command.current_dir(place))
    }
}

fn publish(place: &Path) -> Command {
    let mut command = instep(["publish", "-q", "--base-url", BASE, "--dump", "always", "--change-dump"]);
    command.args(["--patches", "--archives", "--gzip", "--snapshot", "files"]).current_dir(place);
    command
}

impl Scene for Publishing {
    fn name(&self) -> &str {
        self.name
    }

    /// Of a first publication enough to meet each of its steps: killed between lists and dump, an archive led to a list
    /// that was never put in place.
    fn sample(&self) -> usize {
        if self.name.starts_with("first") { 30 } else { 2 }
    }

    fn lay_out(&self, place: &Path) {
        copy_tree(self.template.path(), place);
    }

    fn command(&self, place: &Path) -> Command {
        publish(place)
    }

    fn judge(&self, place: &Path, run: &Run, fault: Fault, _: usize) -> Vec<String> {
        let mut wrong = Vec::new();
        let begun = place.join("files/.well-known/resourcesync").exists();
        if begun {
            let structure = self.verify(place, &["--structure"]);
            if structure.code != Some(0) {
                wrong.push(format!("documents: {}{}", structure.stdout, structure.stderr));
            }
        }
        if run.code == Some(0) && fault != Fault::Kill {
            let replayed = self.verify(place, &["--tree", "files"]);
            if replayed.code != Some(0) {
                wrong.push(format!("exit code 0, and {}{}", replayed.stdout, replayed.stderr));
            }
        }
        let next = Run::of(&mut publish(place));
        if next.code != Some(0) {
            wrong.push(format!("the next run ends with {:?}: {}{}", next.code, next.stdout, next.stderr));
        }
        let replayed = self.verify(place, &["--tree", "files"]);
        if replayed.code != Some(0) {
            wrong.push(format!("after the next run: {}{}", replayed.stdout, replayed.stderr));
        }
        let left = walkdir::WalkDir::new(place.join("files/resourcesync/.stage/lists"))
            .into_iter()
            .filter_map(Result::ok);
        let left: Vec<_> = left.filter(|entry| entry.file_type().is_file()).collect();
        if !left.is_empty() {
            wrong.push(format!("left in staging: {left:?}"));
        }
        wrong
    }
}
