//! The thirteen cases of THREATS.md, table 2, where the reference client fails: both clients run, both results are
//! printed, ours must be right.

mod hostile_cases;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use hostile_cases::CASES;
use instep_testkit::{FakeSource, Fault, Layout, Run, instep, peers};
use tempfile::TempDir;

use crate::exit_codes::spawn;

const RESOURCES: usize = 100;

const CHANGED: &str = "f000.txt";

const TOKEN: &str = "a-secret-token";

/// Seconds that the reference client may take; it hangs in one case.
const PATIENCE: &str = "6";

/// One case: what is wrong at the Source, and what must be so afterwards.
struct Case {
    name: &'static str,
    /// `true` if a right copy is made first.
    copy_first: bool,
    spoil: fn(&FakeSource, &FakeSource),
    options: &'static [&'static str],
    peer_options: &'static [&'static str],
    codes: &'static [i32],
    holds: fn(&Scene) -> Result<(), String>,
}

/// A Source, another host, and the copy, deep enough that a path out of it can be found.
struct Scene {
    source: FakeSource,
    other: FakeSource,
    place: TempDir,
    copy: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let mut layout = Layout::new();
        layout.change_list = false;
        let resources = (0..RESOURCES).map(|number| (format!("f{number:03}.txt"), format!("text {number}")));
        let resources = resources.chain([("trav/a.txt".into(), "below".into())]);
        let source = FakeSource::start_with(layout.clone()).with_resources(resources);
        let place = tempfile::tempdir().unwrap();
        let copy = place.path().join("a/b/c/d/copy");
        fs::create_dir_all(&copy).unwrap();
        Self { source, other: FakeSource::start_at("127.0.0.2", layout), place, copy }
    }

    fn held(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(self.copy.join(path)).map_err(|error| format!("{path}: {error}"))
    }

    fn expect(&self, path: &str, text: &str) -> Result<(), String> {
        let held = self.held(path)?;
        if held == text {
            Ok(())
        } else {
            Err(format!("{path} is {:?}", held.chars().take(30).collect::<String>()))
        }
    }

    /// Returns a file of this name outside of the copy.
    fn escaped(&self, name: &str) -> Option<PathBuf> {
        let files = walkdir::WalkDir::new(self.place.path()).into_iter().filter_map(Result::ok);
        let files = files.filter(|file| !file.path().starts_with(&self.copy));
        files.map(walkdir::DirEntry::into_path).find(|path| path.ends_with(name))
    }

    fn ours(&self, options: &[&str]) -> Command {
        let mut command = instep(["sync", "--retries", "2", "--timeout", "1s"]);
        command
            .arg(self.source.resource_list_url())
            .arg(&self.copy)
            .args(options)
            .env("INSTEP_BEARER", TOKEN);
        command
    }

    fn theirs(&self, resync: &Path, options: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", PATIENCE]).arg(resync).arg("--baseline").args(["--access-token", TOKEN]);
        command.args(["--sitemap", &self.source.resource_list_url()]).args(options);
        command.arg(self.source.url("").trim_end_matches('/')).arg(&self.copy).current_dir(self.place.path());
        command
    }
}

/// Returns the outcome of a client's run, in a few words.
fn outcome(case: &Case, scene: &Scene, run: &Run) -> String {
    let code = run.code.map_or("killed after 6 s".to_owned(), |code| format!("exit {code}"));
    let traceback = if run.stderr.contains("Traceback") { ", a traceback" } else { "" };
    let state = (case.holds)(scene).map_or_else(|wrong| format!("; {wrong}"), |()| String::new());
    format!("{code}{traceback}{state}")
}

#[test]
fn thirteen_hostile_cases_come_out_right_where_the_reference_client_fails() {
    let resync = peers::find(["resync-sync", "timeout"]).map(|[resync, _]| resync);
    let mut wrong = Vec::new();
    println!("{:<36} {:<48} instep", "case", "resync 2.0.1");
    for case in CASES {
        let scene_for = |client: &dyn Fn(&Scene, &[&str]) -> Command, options: &[&str]| {
            let scene = Scene::new();
            if case.copy_first {
                Run::of(&mut client(&scene, &[]));
            }
            (case.spoil)(&scene.source, &scene.other);
            let run = Run::of(&mut client(&scene, options));
            (scene, run)
        };
        let theirs = resync.as_ref().map(|resync| {
            let (scene, run) = scene_for(&|scene, options| scene.theirs(resync, options), case.peer_options);
            outcome(case, &scene, &run)
        });
        let (scene, run) = scene_for(&|scene, options| scene.ours(options), case.options);
        let ours = outcome(case, &scene, &run);
        println!("{:<36} {:<48} {ours}", case.name, theirs.unwrap_or_else(|| "not installed".into()));
        let right = (case.holds)(&scene).is_ok() && run.code.is_some_and(|code| case.codes.contains(&code));
        if !right {
            wrong.push(format!("{}: {ours}, not exit {:?}\n{}", case.name, case.codes, run.stderr));
        }
    }
    let [ours, theirs] = killed_in_the_middle(resync.as_deref());
    println!("{:<36} {theirs:<48} {ours}", "SIGKILL within a changed file");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(ours, "the old version");
}

/// Returns what is under the final name after SIGKILL in the middle of a changed file.
fn killed_in_the_middle(resync: Option<&Path>) -> [String; 2] {
    let survivor = |client: &dyn Fn(&Scene) -> Command| {
        let scene = Scene::new();
        scene.source.put(CHANGED, "an old version\n".repeat(50_000));
        Run::of(&mut client(&scene));
        scene.source.put(CHANGED, "the new version, longer\n".repeat(50_000));
        let before = scene.source.requests_for(CHANGED);
        scene.source.fail(CHANGED, [Fault::Stall(600_000)]);
        let mut run = spawn(&mut client(&scene));
        scene.source.wait_for(CHANGED, before + 1);
        run.kill().unwrap();
        run.wait().unwrap();
        match scene.held(CHANGED).as_deref() {
            Ok(text) if text == "an old version\n".repeat(50_000) => "the old version".to_owned(),
            Ok(text) => format!("{} bytes of neither version", text.len()),
            Err(error) => error.to_owned(),
        }
    };
    let theirs = resync.map(|resync| survivor(&|scene| scene.theirs(resync, &[])));
    [survivor(&|scene| scene.ours(&[])), theirs.unwrap_or_else(|| "not installed".into())]
}
