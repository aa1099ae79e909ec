//! Copies of a Source that instep itself publishes.

use std::{fs, path::Path, time::Duration};

use instep_destination::Strategy;
use instep_source::{DumpPolicy, NoMonitor, PublishOptions, publish};
use instep_testkit::{FakeSource, Fault, compare};
use tempfile::TempDir;

use crate::support::Copy;

/// A folder that is published, and served as it is.
struct Published {
    files: TempDir,
    options: PublishOptions,
    copy: Copy,
}

impl Published {
    fn new(files: &[(&str, &str)], change: impl FnOnce(&mut PublishOptions)) -> Self {
        let folder = TempDir::new().unwrap();
        let copy = Copy::of(FakeSource::start());
        let mut options = PublishOptions::new(folder.path(), copy.source.url(""));
        change(&mut options);
        let published = Self { files: folder, options, copy };
        files.iter().for_each(|(path, text)| published.write(path, text));
        published.publish();
        published
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.files.path().join(path), text).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.files.path().join(path)).unwrap();
        self.copy.source.fail_always(path, Fault::Status(404));
    }

    fn publish(&self) {
        publish(&self.options, &NoMonitor).unwrap();
        self.serve(self.files.path());
    }

    fn serve(&self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(self.files.path()).unwrap().to_str().unwrap().to_owned();
            match entry.file_type().unwrap().is_dir() {
                true if name == ".instep" => {}
                true => self.serve(&path),
                false => self.copy.source.serve(&name, fs::read(&path).unwrap()),
            }
        }
    }

    /// Makes the Source look as if it had never had these capabilities.
    fn hide(&self, capabilities: &[&str]) {
        let hidden: Vec<_> = capabilities.iter().map(|name| format!("capability=\"{name}\"")).collect();
        self.copy.source.rewrite("resourcesync/capabilitylist.xml", move |text| {
            let mut blocks = text.split("  <url>");
            let head = blocks.next().unwrap_or_default().to_owned();
            let kept = blocks.filter(|block| !hidden.iter().any(|name| block.contains(name)));
            let kept = kept.map(|block| format!("  <url>{block}"));
            let text = head + &kept.collect::<String>();
            if text.contains("</urlset>") { text } else { text + "</urlset>" }
        });
    }

    fn assert_copied(&self) {
        let mut differences = compare(self.files.path(), &self.copy.dir());
        let own = ["resourcesync", ".well-known", ".instep", "robots.txt"];
        differences.retain(|line| !own.iter().any(|name| line.contains(name)));
        assert_eq!(differences, [""; 0]);
    }
}

fn with_change_dumps(options: &mut PublishOptions) {
    options.dumps.policy = DumpPolicy::Never;
    options.dumps.changes = true;
    options.dumps.changes_every = Some(Duration::ZERO);
    options.keep_states = true;
}

#[test]
fn its_change_dumps_alone_keep_a_copy_in_step() {
    let published =
        Published::new(&[("a.txt", "one"), ("b.txt", "two"), ("c.txt", "three")], with_change_dumps);
    published.hide(&["changelist"]);
    let sync = || published.copy.sync_with(|options| options.delete = true);
    assert_eq!(sync().exit_code(), 0);
    published.write("a.txt", "changed");
    published.write("d.txt", "new");
    published.publish();
    published.write("a.txt", "changed once more");
    published.remove("b.txt");
    published.publish();
    published.copy.source.forget_requests();
    let run = sync();
    let report = run.report();
    assert_eq!((run.exit_code(), report.strategy), (0, Strategy::ChangeDump), "{:?}", run.heard);
    assert_eq!((report.created, report.updated, report.deleted), (1, 1, 1));
    assert_eq!(published.copy.source.requests_for("a.txt") + published.copy.source.requests_for("d.txt"), 0);
    published.assert_copied();
    assert_eq!(sync().report().strategy, Strategy::Nothing);
}

#[test]
fn its_dumps_alone_are_a_baseline_and_what_follows_it() {
    let published = Published::new(&[("a.txt", "one"), ("b.txt", "two")], |options| {
        with_change_dumps(options);
        options.dumps.policy = DumpPolicy::Always;
    });
    published.hide(&["changelist", "resourcelist"]);
    published.write("a.txt", "changed");
    published.publish();
    let run = published.copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy), (0, Strategy::Dump), "{:?}", run.heard);
    assert_eq!(published.copy.source.requests_for("a.txt"), 0);
    published.assert_copied();
}
