//! Other people's programs against ours, in both roles. A test whose peer is missing is left out and named by
//! `cargo xtask test`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test ends where its ground is missing, and shows what a peer said"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{Run, Server, Tree, compare, generate, instep, peers};
use resourcesync::{DocumentReader, Entry, ReadOptions};
use tempfile::TempDir;

/// A folder of files in a temporary place, and room for what is made of it.
struct Bench {
    place: TempDir,
    files: PathBuf,
    copy: PathBuf,
}

impl Bench {
    fn new(count: usize) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (files, copy) = (place.path().join("files"), place.path().join("copy"));
        fs::create_dir(&files).unwrap();
        generate::tree(&files, count, 0..3000, 7).unwrap();
        Self { place, files, copy }
    }

    fn publish(&self, url: &str, options: &[&str]) -> Run {
        let mut command = instep(["publish"]);
        Run::of(command.arg(&self.files).args(["--base-url", url]).args(options)).with_code(0)
    }

    fn nginx(&self, program: &Path) -> Server {
        Server::nginx(program, &self.files, &self.place.path().join("nginx")).unwrap()
    }

    /// Creates, updates and deletes a file.
    fn change(&self) {
        fs::write(self.files.join("d0000/new.txt"), "created").unwrap();
        fs::write(self.files.join("d0000/f0000001.txt"), "another text").unwrap();
        fs::remove_file(self.files.join("d0000/f0000002.txt")).unwrap();
    }

    /// Asserts that the copy equals the files, without the documents that are published about them.
    fn assert_copied(&self) {
        let documents = |tree: Tree| tree.without("resourcesync/").without("robots.txt");
        let (files, copy) = (documents(Tree::of(&self.files)), documents(Tree::of(&self.copy)));
        assert_eq!(files.names(), copy.names());
        assert_eq!(files, copy, "{:?}", compare(&self.files, &self.copy));
    }
}

fn document(folder: &Path, path: &str) -> Vec<Entry> {
    let bytes = fs::read(folder.join(path)).unwrap();
    let mut reader = DocumentReader::new(bytes.as_slice(), ReadOptions::new()).unwrap();
    reader.entries().collect::<Result<_, _>>().unwrap()
}

fn follows_with_the_reference_client(version: &str) {
    let Some([nginx, resync]) = peers::find(["nginx", "resync-sync"]) else { return };
    let bench = Bench::new(150);
    let server = bench.nginx(&nginx);
    let url = server.url();
    let hashes = ["--hash", "md5,sha-256", "--spec-version", version];
    bench.publish(&url, &hashes);
    let client = |arguments: &[&str]| {
        let mut command = Command::new(&resync);
        command.args(arguments).args(["--spec-version", version, "--delete", "--verbose"]);
        let run = Run::of(
            command.args([url.trim_end_matches('/')]).arg(&bench.copy).current_dir(bench.place.path()),
        );
        println!("{}{}", run.stdout, run.stderr);
        run
    };

    let baseline = client(&["--baseline"]);
    assert!(baseline.stderr.contains("SYNCED"), "{}", baseline.stderr);
    bench.assert_copied();

    bench.change();
    bench.publish(&url, &hashes);
    let open = document(&bench.files, "resourcesync/changelist.xml").pop().unwrap().loc;
    let incremental = client(&["--incremental", "--changelist-uri", open.as_str()]);
    assert!(incremental.stderr.contains("created=1, updated=1, deleted=1"), "{}", incremental.stderr);
    bench.assert_copied();
}

#[test]
fn the_reference_client_copies_and_follows_what_we_publish_as_1_1() {
    follows_with_the_reference_client("1.1");
}

#[test]
fn the_reference_client_copies_and_follows_what_we_publish_as_1_0() {
    follows_with_the_reference_client("1.0");
}

#[test]
fn we_copy_what_the_reference_builder_publishes_and_the_second_time_transfer_nothing() {
    let Some([build, python]) = peers::find(["resync-build", "python3"]) else { return };
    let bench = Bench::new(150);
    let server = Server::python(&python, &bench.files).unwrap();
    let list = bench.files.join("resourcelist.xml");
    let map = format!("{}={}", server.url().trim_end_matches('/'), bench.files.display());
    let mut command = Command::new(build);
    command.args(["--write-resourcelist", "--hash", "md5", "--hash", "sha-256", "--outfile"]);
    drop(Run::of(command.arg(&list).arg(map).current_dir(bench.place.path())).with_code(0));

    let sync = || {
        let mut command = instep(["sync", "--json"]);
        Run::of(command.arg(format!("{}resourcelist.xml", server.url())).arg(&bench.copy))
    };
    let summary = |run: &Run| -> serde_json::Value {
        serde_json::from_str(run.stdout.lines().last().unwrap_or_default()).expect("a summary")
    };
    // The builder's list has no `at`, which is a warning and no problem.
    let first = summary(&sync().with_code(0));
    assert_eq!(first["created"], 150, "{first}");
    let second = summary(&sync().with_code(0));
    assert_eq!((&second["created"], &second["updated"]), (&0.into(), &0.into()), "{second}");
    fs::remove_file(&list).unwrap();
    bench.assert_copied();
}

/// Makes a copy with the reference client, and returns a function that runs our `resync-sync` where that ran.
fn copy_of_the_reference_client<'b>(
    bench: &'b Bench,
    resync: &Path,
    url: &'b str,
) -> impl Fn(&[&str]) -> Run {
    bench.publish(url, &["--hash", "md5,sha-256"]);
    let mut command = Command::new(resync);
    command.args(["--baseline", url.trim_end_matches('/')]).arg(&bench.copy).current_dir(bench.place.path());
    let baseline = Run::of(&mut command);
    assert!(baseline.stderr.contains("SYNCED"), "{}", baseline.stderr);
    move |arguments| {
        let mut command = instep(["resync-sync"]);
        command.args(arguments).arg(url.trim_end_matches('/')).arg(&bench.copy);
        Run::of(command.current_dir(bench.place.path())).with_code(0)
    }
}

#[test]
fn a_copy_of_the_reference_client_is_adopted_and_then_follows() {
    let Some([nginx, resync]) = peers::find(["nginx", "resync-sync"]) else { return };
    let bench = Bench::new(150);
    let server = bench.nginx(&nginx);
    let url = server.url();
    let ours = copy_of_the_reference_client(&bench, &resync, &url);
    let kept = bench.copy.join("d0000/f0000001.txt");
    fs::hard_link(&kept, bench.place.path().join("kept")).unwrap();

    let baseline = ours(&["--baseline", "--hash", "md5", "--verbose"]);
    assert!(baseline.stderr.contains(" --adopt"), "{}", baseline.stderr);
    bench.assert_copied();
    // The same file is still there: nothing was fetched over it.
    fs::write(bench.place.path().join("kept"), "written through the link").unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "written through the link");

    bench.change();
    bench.publish(&url, &["--hash", "md5,sha-256"]);
    drop(ours(&["--incremental", "--delete"]));
    bench.assert_copied();
}

#[test]
fn an_incremental_run_begins_at_the_time_that_the_reference_client_kept() {
    let Some([nginx, resync]) = peers::find(["nginx", "resync-sync"]) else { return };
    let bench = Bench::new(30);
    let server = bench.nginx(&nginx);
    let url = server.url();
    let ours = copy_of_the_reference_client(&bench, &resync, &url);
    fs::write(bench.files.join("d0000/new.txt"), "created").unwrap();
    fs::write(bench.files.join("d0000/f0000001.txt"), "another text").unwrap();
    bench.publish(&url, &["--hash", "md5,sha-256"]);
    let run = ours(&["--incremental"]);
    assert!(run.stderr.contains(" --adopt --since="), "{}", run.stderr);
    bench.assert_copied();
}

#[test]
fn the_reference_client_copies_by_a_list_that_our_resync_build_writes() {
    let Some([nginx, resync]) = peers::find(["nginx", "resync-sync"]) else { return };
    let bench = Bench::new(30);
    let server = bench.nginx(&nginx);
    let (url, list) = (server.url(), bench.files.join("resourcelist.xml"));
    let mut build = instep(["resync-build", "--write-resourcelist", "--hash", "md5", "--outfile"]);
    drop(Run::of(build.arg(&list).arg(&url).arg(&bench.files)).with_code(0));
    let mut client = Command::new(&resync);
    client.args(["--baseline", "--hash", "md5", url.trim_end_matches('/')]).arg(&bench.copy);
    let baseline = Run::of(client.current_dir(bench.place.path()));
    assert!(baseline.stderr.contains("created=30"), "{}", baseline.stderr);
    fs::remove_file(list).unwrap();
    bench.assert_copied();
}

/// Returns the options that a help text of the reference client lists, with their other names.
fn listed_options(help: &str) -> Vec<String> {
    let option = |line: &str| line.strip_prefix("  -").map(|line| format!("-{line}"));
    let names = |line: String| {
        let listed = line.split("  ").next().unwrap_or_default();
        let names = listed.split(", ").filter_map(|name| name.split(' ').next()).map(str::to_owned);
        names.collect::<Vec<_>>()
    };
    help.lines().filter_map(option).flat_map(names).collect()
}

#[test]
fn p27_each_option_of_the_reference_client_is_taken_or_refused_with_a_reason() {
    let programs = ["resync-sync", "resync-build", "resync-explorer"];
    let Some(theirs) = peers::find(programs) else { return };
    for (name, their) in programs.iter().zip(theirs) {
        let options = listed_options(&Run::of(Command::new(their).arg("--help")).with_code(0).stdout);
        assert!(options.len() >= 20, "{name}: {options:?}");
        for option in options {
            let run = Run::of(&mut instep([*name, &option]));
            assert!(!run.stderr.contains("unexpected argument"), "{name} {option}: {}", run.stderr);
        }
    }
}

#[test]
fn every_document_is_well_formed_by_xmllint() {
    let Some([xmllint]) = peers::find(["xmllint"]) else { return };
    let bench = Bench::new(30);
    fs::write(bench.files.join("a & b <é> \"'%20?#.txt"), "a name").unwrap();
    bench.publish("http://source.example.com/a%20b/", &["--hash", "md5,sha-256"]);
    bench.change();
    bench.publish("http://source.example.com/a%20b/", &["--hash", "md5,sha-256"]);
    let documents =
        walkdir::WalkDir::new(bench.files.join("resourcesync")).into_iter().filter_map(Result::ok);
    let documents: Vec<_> = documents
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|extension| extension == "xml"))
        .chain([bench.files.join(".well-known/resourcesync")])
        .collect();
    assert!(documents.len() >= 5, "{documents:?}");
    let run = Run::of(Command::new(xmllint).arg("--noout").args(&documents)).with_code(0);
    assert_eq!(run.stderr, "");
}
