//! A fleet in a folder, its process, and requests to it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use instep_testkit::{LONG, Run, ended, instep, wait_for};
use serde_json::Value;
use tempfile::TempDir;

/// The token of the operator `ada`.
pub(crate) const TOKEN: &str = "a token that nobody guesses";

/// A program that reports in a JSON line that it is ready. It ends when dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// The URL at which it answers.
    pub(crate) url: String,
}

impl Running {
    pub(crate) fn spawn(command: &mut std::process::Command) -> Self {
        Self::with_messages(command, Stdio::null())
    }

    /// Starts it with another place for its messages.
    pub(crate) fn with_messages(command: &mut std::process::Command, messages: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(messages).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            (line["type"] == "ready").then(|| line["url"].as_str().unwrap_or_default().to_owned())
        });
        // The output must be read; otherwise the program would wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: ready.unwrap() }
    }

    /// Serves a folder as a Source.
    pub(crate) fn source(folder: &Path) -> Self {
        Self::spawn(instep(["serve", "--listen", "127.0.0.1:0", "--json"]).arg(folder))
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = std::process::Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end and returns its exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        ended(&mut self.child).code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A fleet in its own folder.
pub(crate) struct FleetFolder {
    pub(crate) home: TempDir,
}

impl FleetFolder {
    pub(crate) fn new() -> Self {
        let home = TempDir::new().unwrap();
        let operators = home.path().join("operators");
        fs::write(&operators, format!("ada {TOKEN}\n")).unwrap();
        std::process::Command::new("chmod").arg("600").arg(&operators).status().unwrap();
        Self { home }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes the configuration file.
    pub(crate) fn configure(&self, text: &str) {
        fs::write(self.path("instep.toml"), text).unwrap();
    }

    /// Returns a folder with files, to be served.
    pub(crate) fn data(&self, name: &str, files: usize) -> PathBuf {
        let data = self.path(name);
        fs::create_dir_all(&data).unwrap();
        for file in 0..files {
            fs::write(data.join(format!("{file}.txt")), format!("{name} {file}\n")).unwrap();
        }
        data
    }

    pub(crate) fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = instep(words);
        command.current_dir(self.home.path());
        command
    }

    /// Runs `instep source`.
    pub(crate) fn source(&self, words: &[&str]) -> Run {
        let words: Vec<_> = ["source"].iter().chain(words).copied().collect();
        Run::of(&mut self.command(&words))
    }

    /// Runs `instep source` and asserts that it ends with a code.
    pub(crate) fn ends(&self, words: &[&str], code: i32) {
        drop(self.source(words).with_code(code));
    }

    /// Starts `instep run` with a dashboard. Its messages are in the file `messages`.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        let usual =
            ["run", "--listen", "127.0.0.1:0", "--operators", "operators", "--retries", "0", "--json"];
        let words: Vec<_> = usual.iter().chain(words).copied().collect();
        let messages = fs::File::create(self.path("messages")).unwrap();
        Running::with_messages(&mut self.command(&words), messages.into())
    }

    /// Waits until the process started last has said something a number of times.
    pub(crate) fn wait_for_message(&self, part: &str, times: usize) {
        wait_for(|| {
            let messages = fs::read_to_string(self.path("messages")).unwrap();
            let found = messages.matches(part).count();
            if found >= times { Ok(()) } else { Err(format!("{found} times {part:?} in {messages}")) }
        });
    }

    /// Waits until a Source has a state, as `instep source` reports it.
    pub(crate) fn wait_for(&self, name: &str, state: &str) -> Value {
        wait_for(|| {
            let run = self.source(&["show", name, "--json"]);
            let shown: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
            if shown["state"] == state {
                Ok(shown)
            } else {
                Err(format!("{name} is not {state}: {shown} {}", run.stderr))
            }
        })
    }
}

/// An answer to a request.
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// Status line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Sends a request with headers and a body.
pub(crate) fn ask(to: &Running, request: &str, headers: &[(&str, &str)], body: &str) -> Answered {
    let address = to.url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut text = format!("{request} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        text.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    write!(stream, "{text}\r\n{body}").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answered { status, head: head.to_owned(), body: body.to_owned() }
}

pub(crate) fn get(from: &Running, path: &str) -> Answered {
    ask(from, &format!("GET {path}"), &[], "")
}

/// Sends a request as `ada`.
pub(crate) fn as_ada(to: &Running, request: &str, body: &str) -> Answered {
    let bearer = format!("Bearer {TOKEN}");
    ask(to, request, &[("Authorization", &bearer), ("Content-Type", "application/json")], body)
}
