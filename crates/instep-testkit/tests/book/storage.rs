//! Object storage and a database for the pages that need them.

use std::process::Command;

use instep_testkit::{PostgresServer, Run, Server, free_port, peers};

/// The address that pages show, and the bucket that they deliver to.
const SHOWN: &str = "127.0.0.1:9000";
const BUCKET: &str = "library";

/// The command and the address of a database that pages show.
const CREATED: &str = "createdb copies";
const DATABASE: &str = "me@db.example/copies";

/// Servers in place of those of a page, as far as it needs any.
pub(crate) struct Storage {
    buckets: Option<(Server, u16)>,
    database: Option<PostgresServer>,
}

impl Storage {
    /// Starts the servers that commands need; `None` if one is not installed.
    pub(crate) fn wanted_by(commands: &[String]) -> Option<Self> {
        let show = |what| commands.iter().any(|command| command.contains(what));
        let mut storage = Self { buckets: None, database: None };
        if show(DATABASE) {
            storage.database = Some(PostgresServer::start()?);
        }
        if !show(SHOWN) {
            return Some(storage);
        }
        let [moto, curl] = peers::find(["moto_server", "curl"])?;
        let port = free_port().unwrap();
        let server = Server::start(Command::new(moto).args(["-p", &port.to_string()]), port).unwrap();
        let bucket = format!("{}{BUCKET}", server.url());
        let _ = Run::of(Command::new(curl).args(["-sS", "--fail", "-X", "PUT", &bucket])).with_code(0);
        storage.buckets = Some((server, port));
        Some(storage)
    }

    /// Puts the servers into a command.
    pub(crate) fn place(&self, command: &str) -> String {
        let mut command = command.to_owned();
        if let Some((_, port)) = &self.buckets {
            command = command.replace(SHOWN, &format!("127.0.0.1:{port}"));
        }
        if let Some(server) = &self.database {
            let port = server.port();
            let creation = format!("createdb --host 127.0.0.1 --port {port} --username instep book");
            command = command.replace(CREATED, &creation);
            command = command.replace(DATABASE, &format!("instep@127.0.0.1:{port}/book"));
        }
        command
    }
}
