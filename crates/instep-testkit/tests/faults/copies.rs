//! A copy that is made or refreshed while the program is killed or its disk fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use instep_testkit::{FakeSource, Layout, Run, Tree, compare, instep, wrap};
use resourcesync::{Link, MediaType, Relation, Uri};
use tempfile::TempDir;

use crate::{Scene, copy_tree, injection::Fault};

/// A Source in its last state, and a copy before the run.
pub(crate) struct Copying {
    name: &'static str,
    source: FakeSource,
    options: &'static [&'static str],
    template: TempDir,
    /// Every state that a resource had.
    states: BTreeMap<String, BTreeSet<Vec<u8>>>,
    truth: TempDir,
}

impl Copying {
    fn new(name: &'static str, options: &'static [&'static str], change: impl FnOnce(&mut Layout)) -> Self {
        let mut layout = Layout::new();
        change(&mut layout);
        let texts = (0..16).map(|number| (path(number), text(number, 0)));
        let mut copying = Self {
            name,
            source: FakeSource::start_with(layout).with_resources(texts),
            options,
            template: TempDir::new().unwrap(),
            states: BTreeMap::new(),
            truth: TempDir::new().unwrap(),
        };
        copying.remember();
        copying
    }

    /// By list, into an empty folder.
    pub(crate) fn by_list() -> Self {
        Self::new("list", &[], |_| {}).ready()
    }

    pub(crate) fn by_dump() -> Self {
        Self::new("dump", &["--via", "dump"], |layout| layout.dump = true).ready()
    }

    pub(crate) fn by_batch() -> Self {
        Self::new("batch", &["--via", "batch"], |layout| layout.batch = true).ready()
    }

    pub(crate) fn by_changes() -> Self {
        Self::new("changes", &[], |_| {}).after_a_first_run().changed().ready()
    }

    pub(crate) fn by_change_dump() -> Self {
        let layout = |layout: &mut Layout| (layout.change_list, layout.change_dump) = (false, true);
        Self::new("change dump", &[], layout).after_a_first_run().changed().ready()
    }

    pub(crate) fn following() -> Self {
        Self::new("follow", &["--follow"], |_| {}).after_a_first_run().changed().ready()
    }

    pub(crate) fn by_patch() -> Self {
        let mut copying = Self::new("patches", &[], |_| {});
        copying.source.put("a.json", r#"{"a":1,"b":2}"#);
        copying.remember();
        let mut copying = copying.after_a_first_run();
        let target = copying.source.url("a.patch");
        copying.source.serve("a.patch", r#"[{"op": "replace", "path": "/b", "value": 3}]"#);
        copying.source.misstate("a.json", move |entry| {
            let mut link = Link::new(Relation::Patch, Uri::parse(&target).unwrap());
            link.media_type = Some(MediaType::new("application/json-patch+json"));
            entry.links.push(link);
        });
        copying.source.put("a.json", r#"{"a":1,"b":3}"#);
        copying.remember();
        copying.ready()
    }

    fn remember(&mut self) {
        let now = TempDir::new().unwrap();
        self.source.write_to(now.path()).unwrap();
        for path in Tree::of(now.path()).names() {
            let bytes = fs::read(now.path().join(path)).unwrap();
            self.states.entry(path.to_owned()).or_default().insert(bytes);
        }
    }

    fn after_a_first_run(self) -> Self {
        drop(Run::of(&mut self.sync(self.template.path(), &[])).with_code(0));
        self
    }

    fn changed(mut self) -> Self {
        for number in 0..6 {
            self.source.put(&path(number), text(number, 1));
        }
        for number in 20..24 {
            self.source.put(&path(number), text(number, 1));
        }
        self.source.delete(&path(7));
        self.source.delete(&path(8));
        self.source.rotate();
        self.remember();
        self
    }

    fn ready(self) -> Self {
        self.source.write_to(self.truth.path()).unwrap();
        self
    }

    fn sync(&self, place: &Path, options: &[&str]) -> Command {
        let mut command = instep(["sync", "--delete", "-q"]);
        command.args(options).arg(self.source.url("")).arg("copy").current_dir(place);
        command
    }

    /// Files that are no state that their resource ever had.
    fn broken_files(&self, place: &Path) -> Vec<String> {
        let copy = place.join("copy");
        let tree = Tree::of(&copy);
        let is_state = |path: &&str| {
            let bytes = fs::read(copy.join(path)).unwrap();
            self.states.get(*path).is_some_and(|states| states.contains(&bytes))
        };
        tree.names().into_iter().filter(|path| !is_state(path)).map(str::to_owned).collect()
    }
}

impl Scene for Copying {
    fn name(&self) -> &str {
        self.name
    }

    fn lay_out(&self, place: &Path) {
        copy_tree(self.template.path(), place);
    }

    fn command(&self, place: &Path) -> Command {
        let command = self.sync(place, self.options);
        if self.options != ["--follow"] {
            return command;
        }
        let mut timeout = Command::new("timeout");
        timeout.args(["--preserve-status", "--signal=TERM", "0.7"]);
        wrap(timeout, &command)
    }

    fn judge(&self, place: &Path, run: &Run, fault: Fault, number: usize) -> Vec<String> {
        let mut wrong = Vec::new();
        let broken = self.broken_files(place);
        if !broken.is_empty() {
            wrong.push(format!("no state that they ever had: {broken:?}"));
        }
        if run.code == Some(0) && fault != Fault::Kill {
            let differences = compare(self.truth.path(), &place.join("copy"));
            if !differences.is_empty() {
                wrong.push(format!("exit code 0, and {differences:?}"));
            }
        }
        // Every other time the next run comes first, and resolves what was left itself. An audit of a copy that holds
        // nothing yet is a finding of its own (B8).
        let held = !Tree::of(&place.join("copy")).names().is_empty();
        if number.is_multiple_of(2) && held {
            let audit = Run::of(instep(["audit", "--offline", "copy"]).current_dir(place));
            if audit.code != Some(0) {
                wrong.push(format!(
                    "audit --offline ends with {:?}: {}{}",
                    audit.code, audit.stdout, audit.stderr
                ));
            }
        }
        let next = Run::of(&mut self.sync(place, &[]));
        if next.code != Some(0) {
            wrong.push(format!("the next run ends with {:?}: {}{}", next.code, next.stdout, next.stderr));
        }
        let differences = compare(self.truth.path(), &place.join("copy"));
        if !differences.is_empty() {
            wrong.push(format!("after the next run: {differences:?}"));
        }
        let audit = Run::of(instep(["audit", "--offline", "copy"]).current_dir(place));
        if audit.code != Some(0) {
            wrong.push(format!(
                "then audit --offline ends with {:?}: {}{}",
                audit.code, audit.stdout, audit.stderr
            ));
        }
        wrong
    }
}

fn path(number: usize) -> String {
    format!("d{}/{number}.txt", number % 3)
}

fn text(number: usize, state: usize) -> String {
    format!("text {number} in state {state}\n").repeat(1 + number * 30)
}
