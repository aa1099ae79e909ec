//! A Source in a database, and its servers.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
};

use instep_testkit::{LONG, PostgresServer, Run, free_port, instep, peers};
use serde_json::Value;
use tempfile::TempDir;

/// A Source with the resources of one folder, which all machines can read.
pub(super) struct SharedSource {
    pub(super) database: PostgresServer,
    pub(super) room: TempDir,
    pub(super) base_url: String,
    pub(super) port: u16,
}

/// A server on its own machine: it has its own folder for state and documents.
pub(super) struct Node {
    pub(super) child: Child,
    lines: Receiver<Value>,
    pub(super) documents: PathBuf,
}

impl SharedSource {
    /// `None` if PostgreSQL is missing.
    pub(super) fn new() -> Option<Self> {
        let database = PostgresServer::start()?;
        let room = tempfile::tempdir().unwrap();
        let port = free_port().unwrap();
        fs::create_dir(room.path().join("data")).unwrap();
        Some(Self { database, room, base_url: format!("http://127.0.0.1:{port}/"), port })
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.room.path().join("data").join(name), text).unwrap();
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = instep(words);
        command.current_dir(self.room.path());
        command
    }

    pub(super) fn start(&self, machine: &str, port: u16, options: &[&str]) -> Node {
        let listen = format!("127.0.0.1:{port}");
        self.spawn(machine, &[&["--listen", &listen], options].concat())
    }

    /// Starts a server that has its address among its options, or in its configuration.
    pub(super) fn spawn(&self, machine: &str, options: &[&str]) -> Node {
        let mut command = self.command(&["serve", "data", "--json", "--no-watch", "--scan-every", "1s"]);
        command.args(["--base-url", &self.base_url, "--state", machine]);
        command.args(["--catalogue", &self.database.url()]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (sender, receiver) = channel();
        // The output must be read; otherwise the program would wait for a reader.
        thread::spawn(move || {
            lines
                .filter_map(|line| serde_json::from_str(&line).ok())
                .for_each(|line| drop(sender.send(line)));
        });
        Node {
            child,
            lines: receiver,
            documents: self.room.path().join(machine).join("documents/resourcesync"),
        }
    }

    /// Starts two servers: the first one publishes, and the second one is on standby. Returns the port of the second
    /// one too.
    pub(super) fn start_two(&self, options: &[&str]) -> (Node, Node, u16) {
        let first = self.start("first", self.port, options);
        first.wait_for("ready");
        let port = free_port().unwrap();
        let second = self.start("second", port, &[options, &["--standby"]].concat());
        assert_eq!(second.wait_for("standby")["address"], format!("127.0.0.1:{port}"));
        (first, second, port)
    }

    /// Runs a statement with psql, without our code.
    pub(super) fn sql(&self, sql: &str) -> String {
        let url = self.database.url();
        let [psql] = peers::find(["psql"]).unwrap();
        Run::of(Command::new(psql).args(["-A", "-t", "-X", "-c", sql, &url])).stdout.trim().to_owned()
    }

    pub(super) fn sync(&self) -> Run {
        let url = self.base_url.clone();
        Run::of(&mut self.command(&["sync", &url, "copy", "--delete", "--max-delete", "100%", "--json"]))
    }

    pub(super) fn audits_clean(&self) {
        let url = self.base_url.clone();
        drop(Run::of(&mut self.command(&["audit", &url, "copy"])).with_code(0));
    }
}

impl Node {
    /// Waits for a line of this type.
    pub(super) fn wait_for(&self, kind: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(LONG).unwrap();
            if line["type"] == kind {
                return line;
            }
        }
    }

    pub(super) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Returns the open Change List as it is in place.
    pub(super) fn changes(&self) -> String {
        fs::read_to_string(self.documents.join("changelist-000001.xml")).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    head: String,
}

impl Answer {
    /// Requests a path below the base URL.
    pub(super) fn of(port: u16, path: &str) -> std::io::Result<Self> {
        Self::with(port, path, "")
    }

    /// Requests a path with further header lines.
    pub(super) fn with(port: u16, path: &str, headers: &str) -> std::io::Result<Self> {
        let mut stream = asked(port, path, &format!("Connection: close\r\n{headers}"))?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        let end =
            bytes.windows(4).position(|part| part == b"\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Ok(Self { status, body: bytes.split_off(end + 4), head })
    }

    /// Returns a header; empty if there is none.
    pub(super) fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
            .unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a request, and returns the connection.
pub(super) fn asked(port: u16, path: &str, headers: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(LONG))?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n")?;
    Ok(stream)
}
