//! A server of PostgreSQL in a temporary folder.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{free_port, peers};

/// The users that the server runs as if the tests run as root, which it refuses.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A server with a database `copies`; stopped and gone with this value. Everybody may log in as `instep`, and as `locked`
/// with the password `secret`, who may do nothing.
#[derive(Debug)]
pub struct PostgresServer {
    folder: tempfile::TempDir,
    control: PathBuf,
    port: u16,
    user: Option<(u32, u32)>,
    options: String,
}

impl PostgresServer {
    /// Starts a server. `None` if PostgreSQL is missing and the test may be [left out](peers::left_out).
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start() -> Option<Self> {
        let [initdb, control, psql] = peers::find(["initdb", "pg_ctl", "psql"])?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let user =
            if rustix::process::getuid().is_root() { USERS.iter().find_map(|name| user(name)) } else { None };
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group)).expect("a folder for the server");
        }
        let port = free_port().expect("a free port");
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200"
        );
        let server = Self { folder, control, port, user, options };
        let data = server.data();
        let mut init = server.command(&initdb);
        // Text of another order than that of bytes: who means that order has to say so.
        init.args(["-U", "instep", "-E", "UTF8", "-N", "--auth=trust", "--locale=C.UTF-8"]);
        init.args(["--locale-provider=icu", "--icu-locale=en", "-D"]).arg(&data);
        run(&mut init);
        let logins = "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
        fs::write(data.join("pg_hba.conf"), logins).expect("the logins of the server");
        server.begin();
        let url = format!("postgres://instep@127.0.0.1:{port}/postgres");
        for sql in ["CREATE DATABASE copies", "CREATE ROLE locked LOGIN PASSWORD 'secret'"] {
            run(Command::new(&psql).args(["-q", "-X", "-c", sql, &url]));
        }
        Some(server)
    }

    /// Returns the URL of the database.
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// Returns the URL of the database as it is reached through another port.
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://instep@127.0.0.1:{port}/copies")
    }

    /// Returns the port that the server listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the server as a crash does.
    ///
    /// # Panics
    /// If it does not run.
    pub fn stop_at_once(&self) {
        run(self.command(&self.control).args(["stop", "-m", "immediate", "-w", "-D"]).arg(self.data()));
    }

    /// Starts the server again, and waits until it answers.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn begin(&self) {
        let log = self.folder.path().join("log");
        let mut start = self.command(&self.control);
        start
            .args(["start", "-w", "-t", "120", "-o", &self.options, "-l"])
            .arg(log)
            .arg("-D")
            .arg(self.data());
        run(&mut start);
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir(self.folder.path()).env("LC_ALL", "C.UTF-8");
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let mut stop = self.command(&self.control);
        stop.args(["stop", "-m", "immediate", "-D"]).arg(self.data());
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Returns the numbers of a user and its group.
fn user(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = line.split(':').skip(2);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn run(command: &mut Command) {
    // A server inherits what it writes to: a pipe would be open as long as it runs.
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
