//! `instep demo`: publishes, serves, copies, changes, updates, repairs and audits a sample on one machine. Each step
//! runs this program as a separate process, as an operator would, and its JSON output gives the figures that are shown.

mod child;
mod sample;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::json;

use self::child::{Executable, ServeProcess};
use crate::{
    args::values,
    exit::Exit,
    ui::{
        Output,
        format::{bytes, count, counted, elapsed, name, shell_argument},
    },
};

/// Show everything at once: publish, serve, copy, change and audit a sample
#[derive(Debug, Args)]
pub(crate) struct DemoCommand {
    /// Folder to work in, kept afterwards [default: a temporary one]
    dir: Option<PathBuf>,
    /// Number of files in the sample
    #[arg(long, default_value_t = 600, value_name = "N", value_parser = values::at_least_one::<usize>)]
    files: usize,
}

/// Longest time for a change in the folder to reach the Change List.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(10);

impl DemoCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let started = Instant::now();
        let temporary = self.dir.is_none().then(|| tempfile::Builder::new().prefix("instep-demo-").tempdir());
        let temporary = temporary.transpose().context("Cannot create a temporary folder")?;
        let root = match (&temporary, &self.dir) {
            (Some(folder), _) => folder.path().to_owned(),
            (None, dir) => prepare(dir.as_deref().unwrap_or(Path::new(".")))?,
        };
        let (origin, copy) = (root.join("source"), root.join("copy"));
        let steps = DemoSteps { output, program: Executable::of_this_process()? };
        output.line(format!("instep demo: a Source and a Destination in {}", root.display()));
        output.line("");

        let made = sample::make(&origin, self.files)?;
        steps.show(
            "A folder",
            &format!(
                "{} of {}: papers, their metadata, pictures",
                counted(made.files, "file"),
                bytes(made.bytes)
            ),
        );

        let server = steps.serve(&origin)?;
        steps.copy(&server, &copy)?;

        let change = sample::change(&origin)?;
        steps.show("Changed", &change.to_string());
        steps.update(&server, &copy, &change)?;
        steps.nothing_new(&server, &copy)?;

        steps.damage(&server, &copy)?;
        steps.audit(&server, &copy)?;
        let url = server.url.clone();
        server.end()?;

        let equal = sample::compare(&origin, &copy)?;
        steps.show(
            "Compared",
            &format!("{} at the Source and in the copy are equal, byte for byte", counted(equal, "file")),
        );
        output.line("");
        output.line(format!("Done in {}.", elapsed(started.elapsed())));
        output.line(if temporary.is_none() {
            next_in(&root, &origin, &url)
        } else {
            "Next: instep serve YOUR_FOLDER, then instep sync http://127.0.0.1:8080/ COPY".to_owned()
        });
        output.object(
            "summary",
            json!({ "command": "demo", "files": equal, "seconds": started.elapsed().as_secs_f64() }),
        );
        Ok(Exit::Done)
    }
}

/// Returns the line about a folder that stays, and whose Source was served at a URL.
fn next_in(root: &Path, origin: &Path, url: &str) -> String {
    // At another address it would be refused: readers know the resources by this one.
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let origin = shell_argument(&origin.display().to_string());
    format!(
        "Look around in {}; serve it again with: instep serve {origin} --listen {address}",
        root.display()
    )
}

/// Creates the folder. Refuses one that is not empty, because the demo writes and deletes in it.
fn prepare(dir: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("Cannot create {}", dir.display()))?;
    let empty = fs::read_dir(dir)?.next().is_none();
    ensure!(empty, "{} is not empty; choose a new folder", dir.display());
    Ok(dir.canonicalize()?)
}

/// The steps of the demo.
struct DemoSteps<'o> {
    output: &'o Output,
    program: Executable,
}

impl DemoSteps<'_> {
    fn show(&self, act: &str, what: &str) {
        self.output.line(format!("  {}  {what}", self.output.paint(1, &format!("{act:<10}"))));
        self.output.object("act", json!({ "act": act, "what": what }));
    }

    fn serve(&self, origin: &Path) -> anyhow::Result<ServeProcess> {
        let started = Instant::now();
        let server = self.program.serve(origin)?;
        let what =
            format!("as ResourceSync 1.1 and served at {} in {}", server.url, elapsed(started.elapsed()));
        self.show("Published", &what);
        Ok(server)
    }

    fn copy(&self, server: &ServeProcess, copy: &Path) -> anyhow::Result<()> {
        let run = self.program.run(&["sync", &server.url], copy, &[Exit::Done])?;
        let files = run.number("created");
        let rate = files as f64 / run.elapsed.as_secs_f64().max(0.001);
        let figures = format!(
            "{} using {}, {} received, each verified, in {}",
            counted(files, "file"),
            match run.text("strategy") {
                "dump" => "the Resource Dump",
                "batch" => "a batch",
                _ => "the Resource List",
            },
            bytes(run.number("bytes")),
            elapsed(run.elapsed)
        );
        self.show("Copied", &format!("{figures} ({} files/s)", count(rate as u64)));
        Ok(())
    }

    /// Runs `sync` until the copy has all changes. The Source publishes them a moment after they were made, so the
    /// first runs may find only some of them.
    fn update(
        &self,
        server: &ServeProcess,
        copy: &Path,
        change: &sample::DayOfChanges,
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        let (mut created, mut updated, mut deleted, mut runs) = (0, 0, 0, 0);
        while created + updated + deleted < change.total() {
            ensure!(started.elapsed() < PUBLISHED_WITHIN, "The Change List did not show all changes in time");
            let run = self.program.run(&["sync", &server.url, "--delete"], copy, &[Exit::Done])?;
            created += run.number("created");
            updated += run.number("updated");
            deleted += run.number("deleted");
            runs += 1;
        }
        let what = format!(
            "+{created} ~{updated} -{deleted} using the Change List, {} after the change ({})",
            elapsed(started.elapsed()),
            counted(runs, "run")
        );
        self.show("Updated", &what);
        Ok(())
    }

    fn nothing_new(&self, server: &ServeProcess, copy: &Path) -> anyhow::Result<()> {
        let run = self.program.run(&["sync", &server.url], copy, &[Exit::Done])?;
        let what =
            format!("nothing new: {}, {}", counted(run.number("requests"), "request"), elapsed(run.elapsed));
        self.show("Again", &what);
        Ok(())
    }

    /// Flips one byte in the copy. The audit must find just that file, and `--repair` must restore it.
    fn damage(&self, server: &ServeProcess, copy: &Path) -> anyhow::Result<()> {
        let damaged = sample::flip_a_byte(copy)?;
        let run = self.program.run(&["audit", &server.url], copy, &[Exit::Differences])?;
        ensure!(run.number("differing") == 1, "The audit missed the damage in {damaged}");
        let repaired = self.program.run(&["sync", &server.url, "--repair"], copy, &[Exit::Done])?;
        let what = format!(
            "one byte of {}: found by audit, repaired by sync --repair in {}",
            name(&damaged),
            elapsed(repaired.elapsed)
        );
        self.show("Damaged", &what);
        Ok(())
    }

    fn audit(&self, server: &ServeProcess, copy: &Path) -> anyhow::Result<()> {
        let run = self.program.run(&["audit", &server.url], copy, &[Exit::Done])?;
        let what = format!(
            "{} hashed and correct, in {}",
            counted(run.number("same"), "file"),
            elapsed(run.elapsed)
        );
        self.show("Audited", &what);
        Ok(())
    }
}
