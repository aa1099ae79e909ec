//! Helpers of these tests: a folder with files, the program run in it, and servers that are killed at the end of a
//! test.

use std::{
    io::{BufRead as _, BufReader, Lines, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
};

pub(crate) use instep_testkit::folder_with_files as folder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) const BASE: &str = "http://source.example/data/";
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_instep");

/// Returns the command that runs the program in a folder, without the environment of the tests.
pub(crate) fn instep(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder).stdin(Stdio::null());
    command
}

/// Returns a shell command that runs the program, which is `"$@"` in the script.
pub(crate) fn shell(folder: &Path, script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", PROGRAM]).args(arguments).current_dir(folder);
    command.env_clear().env("HOME", folder).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
    command
}

/// Runs a command, which must end with this exit code. Returns its standard output, followed by its standard error.
pub(crate) fn output_of(mut command: Command, code: i32) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(code), "{command:?}\n{text}");
    text
}

/// Runs the program, which must end with this exit code. Returns both of its outputs.
pub(crate) fn run(folder: &Path, arguments: &[&str], code: i32) -> String {
    output_of(instep(folder, arguments), code)
}

/// Publishes the folder `data` at [`BASE`].
pub(crate) fn publish(folder: &Path) -> String {
    run(folder, &["publish", "data", "--base-url", BASE], 0)
}

/// A running command whose JSON lines are read. It is killed when this value is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(crate) fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut values = self.lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        values.find(|value| is_it(value)).unwrap()
    }

    pub(crate) fn ready(&mut self) -> Value {
        self.wait_for(|line| line["type"] == "ready")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of the folder `data`, which is killed when this value is dropped.
pub(crate) struct ServedSource {
    pub(crate) url: String,
    _server: Running,
}

impl ServedSource {
    pub(crate) fn start(folder: &Path) -> Self {
        Self::with_options(folder, &[])
    }

    pub(crate) fn with_options(folder: &Path, options: &[&str]) -> Self {
        let serve = [&["serve", "data", "--listen", "127.0.0.1:0"][..], options].concat();
        let mut server = Running::start(instep(folder, &serve));
        Self { url: server.ready()["url"].as_str().unwrap().to_owned(), _server: server }
    }
}

/// Returns the whole answer of a server to a request.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
