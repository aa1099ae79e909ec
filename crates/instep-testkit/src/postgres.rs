//! A server of PostgreSQL in a temporary folder.

use std::{
    fs,
    io::Write as _,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{free_port, peers};

/// The users that the server runs as if the tests run as root, which it refuses.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A server with a database `copies`. It is stopped and removed with this value. Everybody may log in as `instep`,
/// and as `locked` with the password `secret`, who has no rights.
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
        // Text is not sorted by bytes by default, so that statements must request this order.
        init.args(["-U", "instep", "-E", "UTF8", "-N", "--auth=trust", "--locale=C.UTF-8"]);
        init.args(["--locale-provider=icu", "--icu-locale=en", "-D"]).arg(&data);
        run(&mut init);
        let logins = "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n\
                      host replication all 127.0.0.1/32 trust\n";
        fs::write(data.join("pg_hba.conf"), logins).expect("the logins of the server");
        server.begin();
        let url = format!("postgres://instep@127.0.0.1:{port}/postgres");
        for sql in ["CREATE DATABASE copies", "CREATE ROLE locked LOGIN PASSWORD 'secret'"] {
            run(Command::new(&psql).args(["-q", "-X", "-c", sql, &url]));
        }
        Some(server)
    }

    /// Starts a standby of this server. From now on this server confirms a commit only when the standby has it too.
    /// `None` as for [`PostgresServer::start`].
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn synchronous_standby(&self) -> Option<Self> {
        let [backup, psql] = peers::find(["pg_basebackup", "psql"])?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        if let Some((user, group)) = self.user {
            chown(folder.path(), Some(user), Some(group)).expect("a folder for the standby");
        }
        let port = free_port().expect("a free port");
        let standby = Self {
            folder,
            control: self.control.clone(),
            port,
            user: self.user,
            options: self.options.replace(&format!("-p {} ", self.port), &format!("-p {port} ")),
        };
        let mut copy = standby.command(&backup);
        copy.args([
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            "instep",
            "-R",
            "-c",
            "fast",
            "-N",
            "-D",
        ]);
        run(copy.arg(standby.data()));
        standby.begin();
        for sql in ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"] {
            run(Command::new(&psql).args(["-q", "-X", "-c", sql, &self.url()]));
        }
        Some(standby)
    }

    /// Makes a standby the primary server, and waits until it is.
    ///
    /// # Panics
    /// If this is not a standby, or it cannot be promoted.
    pub fn promote(&self) {
        run(self.command(&self.control).args(["promote", "-w", "-t", "60", "-D"]).arg(self.data()));
    }

    /// Makes a certificate for 127.0.0.1 and starts the server again with it; logins without encryption are refused from now
    /// on. Returns the file of the certificate. `None` as for [`PostgresServer::start`].
    ///
    /// # Panics
    /// If the certificate cannot be made.
    pub fn encrypted(&self) -> Option<PathBuf> {
        let [openssl] = peers::find(["openssl"])?;
        let (key, certificate) = (self.data().join("server.key"), self.data().join("server.crt"));
        let mut make = self.command(&openssl);
        make.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]);
        make.args([
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]);
        run(make.arg("-keyout").arg(&key).arg("-out").arg(&certificate).stderr(Stdio::null()));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("a private key");
        fs::write(self.data().join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n")
            .expect("the logins");
        let settings = fs::OpenOptions::new().append(true).open(self.data().join("postgresql.conf"));
        writeln!(settings.expect("the settings"), "ssl = on").expect("the settings");
        self.stop_at_once();
        self.begin();
        Some(certificate)
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

    /// Returns the id of its first process, which starts all others.
    ///
    /// # Panics
    /// If it does not run.
    pub fn id(&self) -> u32 {
        let id = fs::read_to_string(self.data().join("postmaster.pid")).expect("a server that runs");
        id.lines().next().and_then(|id| id.trim().parse().ok()).expect("the id of a process")
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
    // The server must not inherit a pipe as its output, because the pipe would stay open as long as it runs.
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
