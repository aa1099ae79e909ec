//! Runs this program in other processes and reads their JSON output.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::exit::Exit;

/// The executable of this program.
pub(super) struct Executable(PathBuf);

/// The result of a finished command.
pub(super) struct CommandResult {
    summary: Value,
    pub(super) elapsed: Duration,
}

/// A running `instep serve`, which is killed when this value is dropped.
pub(super) struct ServeProcess {
    process: Child,
    pub(super) url: String,
}

impl Executable {
    pub(super) fn of_this_process() -> anyhow::Result<Self> {
        Ok(Self(std::env::current_exe().context("Cannot find the executable of this program")?))
    }

    fn command(&self, arguments: &[&str], folder: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.args(arguments).arg(folder).arg("--json").stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    ///
    /// Errors: the command cannot be started, ends with an exit code that is not `expected`, or prints no summary.
    pub(super) fn run(
        &self,
        arguments: &[&str],
        folder: &Path,
        expected: &[Exit],
    ) -> anyhow::Result<CommandResult> {
        let started = Instant::now();
        let output = self.command(arguments, folder).stderr(Stdio::piped()).output()?;
        let elapsed = started.elapsed();
        let code = output.status.code().unwrap_or(-1);
        if !expected.iter().any(|exit| i32::from(exit.code()) == code) {
            bail!(
                "instep {} ended with {code}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        let mut lines =
            output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        let summary = lines.rfind(|line: &Value| line["type"] == "summary");
        Ok(CommandResult { summary: summary.context("The command printed no summary")?, elapsed })
    }

    /// Starts a server on a free port and waits until it answers requests.
    pub(super) fn serve(&self, folder: &Path) -> anyhow::Result<ServeProcess> {
        let mut process = self
            .command(&["serve", "--quiet", "--listen", "127.0.0.1:0"], folder)
            .stderr(Stdio::inherit())
            .spawn()?;
        let output = process.stdout.take().context("The server has no output")?;
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.next() {
            let line: Value = serde_json::from_str(&line?).unwrap_or_default();
            if line["type"] == "ready" {
                let url = line["url"].as_str().unwrap_or_default().to_owned();
                // The rest of the output is read and dropped: without a reader the server would end.
                thread::spawn(move || lines.for_each(drop));
                return Ok(ServeProcess { process, url });
            }
        }
        bail!("instep serve did not start")
    }
}

impl CommandResult {
    /// Returns a figure of the summary; 0 if there is none.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.summary[name].as_u64().unwrap_or_default()
    }

    /// Returns a text of the summary; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.summary[name].as_str().unwrap_or_default()
    }
}

impl ServeProcess {
    /// Ends the server by SIGTERM and waits for it.
    ///
    /// Errors: the exit code of the server is not that of an ordinary end.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        self.terminate();
        let status = self.process.wait()?;
        let code = status.code().unwrap_or(-1);
        ensure!(code == 0 || code == i32::from(Exit::Terminated.code()), "The server ended with {code}");
        Ok(())
    }

    fn terminate(&self) {
        if let Some(process) = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.process.try_wait() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
