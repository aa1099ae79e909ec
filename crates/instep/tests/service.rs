//! The program under a service manager: it reports when it is ready, reloads, stops, or is still working, and SIGHUP
//! does not end servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixDatagram,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
};

use instep_testkit::LONG;
use serde_json::Value;
use tempfile::TempDir;

/// The time within which the watchdog expects a message, in microseconds.
const WATCHDOG: &str = "200000";

/// A service manager with one unit: it receives the messages of the program and has the folder that the program runs
/// in.
struct Manager {
    messages: mpsc::Receiver<String>,
    folder: TempDir,
}

impl Manager {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        let (sender, messages) = mpsc::channel();
        // Messages are read all the time, as by systemd: a program waits if there is no room for its next message.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length) = socket.recv(&mut bytes) {
                if sender.send(String::from_utf8(bytes[..length].to_vec()).unwrap()).is_err() {
                    return;
                }
            }
        });
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::write(folder.path().join("data/a.txt"), "a").unwrap();
        Self { messages, folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_instep"));
        command.args(arguments).arg("--json").current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.folder.path()).env("NOTIFY_SOCKET", self.path("notify"));
        command.env("WATCHDOG_USEC", WATCHDOG).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    /// Returns the next message for which `is_it` returns `true`.
    fn wait_for(&self, is_it: impl Fn(&str) -> bool) -> String {
        loop {
            let message = self.messages.recv_timeout(LONG).unwrap();
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Replaces the configuration by renaming a new file, as editors do.
    fn configure(&self, text: &str) {
        fs::write(self.path("new.toml"), text).unwrap();
        fs::rename(self.path("new.toml"), self.path("instep.toml")).unwrap();
    }
}

/// A running command whose JSON lines are read.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut values = self.lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        values.find(|value| is_it(value)).unwrap()
    }

    fn ready(&mut self) -> String {
        self.wait_for(|line| line["type"] == "ready")["url"].as_str().unwrap().to_owned()
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.unwrap().success());
    }

    fn end(mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_ready(message: &str) -> bool {
    message == "READY=1\n"
}

/// Makes a command read its configuration again, which has not changed, and ends it. Checks the messages about both.
fn reload_and_end(manager: &Manager, running: Running) {
    manager.wait_for(|message| message == "WATCHDOG=1\n");
    running.signal("HUP");
    let reloading = manager.wait_for(|message| message.starts_with("RELOADING=1\n"));
    assert!(reloading.contains("\nMONOTONIC_USEC="), "{reloading}");
    manager.wait_for(is_ready);
    manager.wait_for(|message| message == "WATCHDOG=1\n");
    running.signal("TERM");
    manager.wait_for(|message| message == "STOPPING=1\n");
    assert_eq!(running.end(), Some(143));
}

#[test]
fn a_server_reports_ready_when_it_listens_and_its_resources_in_the_status() {
    let manager = Manager::new();
    let mut server = manager.start(&["serve", "data", "--listen", "127.0.0.1:0"]);
    manager.wait_for(is_ready);
    let status = manager.wait_for(|message| message.starts_with("STATUS="));
    let url = server.ready();
    assert_eq!(status, format!("STATUS=Serving {url}: 1 resource, 1 B\n"));
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    std::net::TcpStream::connect(address).unwrap();
    fs::write(manager.path("data/b.txt"), "bb").unwrap();
    manager.wait_for(|message| message == format!("STATUS=Serving {url}: 2 resources, 3 B\n"));
    reload_and_end(&manager, server);
}

#[test]
fn a_copy_that_follows_reports_ready_after_its_first_round_and_the_result_of_each() {
    let manager = Manager::new();
    let source = Manager::new();
    let mut server = source.start(&["serve", "data", "--listen", "127.0.0.1:0"]);
    let url = server.ready();
    let following = manager.start(&["sync", &url, "copy", "--follow", "--poll", "200ms"]);
    let status = manager.wait_for(|message| message.contains("+1 ~0 -0"));
    assert!(status.starts_with("STATUS="), "{status}");
    manager.wait_for(is_ready);
    assert_eq!(fs::read_to_string(manager.path("copy/a.txt")).unwrap(), "a");
    reload_and_end(&manager, following);
    // At the next start the Source is away. The command reports ready all the same, because the copy that is held can
    // be used.
    assert_eq!(server.end(), Some(143));
    let following = manager.start(&["sync", &url, "copy", "--follow", "--poll", "200ms", "--retries", "0"]);
    manager.wait_for(is_ready);
    reload_and_end(&manager, following);
}

#[test]
fn p2_a_hangup_ends_no_server_whatever_the_new_configuration_says() {
    let manager = Manager::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    manager.configure("[serve]\nlisten = \"127.0.0.1:0\"\n");
    let mut server = manager.start(&["serve", "data", "--base-url", "http://source.example/"]);
    server.ready();
    for unusable in [
        format!("[serve]\nlisten = \"{taken}\"\n"),
        "[serve]\nlisten = \"127.0.0.1:0\"\ntls-cert = \"missing.pem\"\ntls-key = \"missing.pem\"\n"
            .to_owned(),
    ] {
        manager.configure(&unusable);
        server.signal("HUP");
        manager.wait_for(|message| message.starts_with("RELOADING=1\n"));
        let again = server.wait_for(|line| line["type"] == "ready");
        std::net::TcpStream::connect(again["address"].as_str().unwrap()).unwrap();
    }
    manager.configure(
        "[publish]\nexclude = [\"a.txt\"]\nallow-empty = true\n[serve]\nlisten = \"127.0.0.1:0\"\n",
    );
    server.signal("HUP");
    server.wait_for(|line| line["change"] == "deleted");
    assert_eq!(server.end(), Some(143));
}

#[test]
fn p2_a_hangup_ends_no_copy_that_follows_whatever_the_new_configuration_says() {
    let manager = Manager::new();
    let source = Manager::new();
    let mut server = source.start(&["serve", "data", "--listen", "127.0.0.1:0"]);
    let url = server.ready();
    let mut following = manager.start(&["sync", &url, "copy", "--follow", "--poll", "200ms"]);
    following.wait_for(|line| line["type"] == "round");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("[sync]\nlisten = \"{}\"\n", taken.local_addr().unwrap());
    for (number, unusable) in [taken.as_str(), "[sync]\nmax-age = \"1ms\"\n"].into_iter().enumerate() {
        manager.configure(unusable);
        following.signal("HUP");
        manager.wait_for(|message| message.starts_with("RELOADING=1\n"));
        manager.wait_for(is_ready);
        let name = format!("{number}.txt");
        fs::write(source.path("data").join(&name), "new").unwrap();
        following.wait_for(|line| line["uri"] == format!("{url}{name}"));
    }
    assert_eq!(following.end(), Some(143));
}

#[test]
fn p2_a_hangup_ends_no_simulated_source() {
    let manager = Manager::new();
    let mut simulated = manager.start(&["simulate", "--resources", "1", "--listen", "127.0.0.1:0"]);
    let url = simulated.ready();
    manager.wait_for(is_ready);
    simulated.signal("HUP");
    let list = Command::new(env!("CARGO_BIN_EXE_instep"));
    copy(list, &url, &manager.path("copy"));
    assert_eq!(simulated.end(), Some(143));
}

#[test]
fn p2_a_hangup_ends_no_pages_of_a_copy() {
    let manager = Manager::new();
    let mut source = manager.start(&["simulate", "--resources", "1", "--listen", "127.0.0.1:0"]);
    let url = source.ready();
    copy(Command::new(env!("CARGO_BIN_EXE_instep")), &url, &manager.path("copy"));
    assert_eq!(source.end(), Some(143));
    let mut pages = manager.start(&["status", "copy", "--listen", "127.0.0.1:0"]);
    let url = pages.ready();
    pages.signal("HUP");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:.100}");
    assert_eq!(pages.end(), Some(143));
}

fn copy(mut instep: Command, url: &str, to: &Path) {
    assert!(instep.args(["sync", url]).arg(to).arg("--quiet").status().unwrap().success());
}
