//! Object storage for the pages that need it.

use std::process::Command;

use instep_testkit::{Run, Server, free_port, peers};

/// The address that pages show, and the bucket that they deliver to.
const SHOWN: &str = "127.0.0.1:9000";
const BUCKET: &str = "library";

/// A server in place of that of a page, or none if it needs none.
pub(crate) struct Storage(Option<(Server, u16)>);

impl Storage {
    /// Starts a server if commands need one; `None` if it is not installed.
    pub(crate) fn wanted_by(commands: &[String]) -> Option<Self> {
        if !commands.iter().any(|command| command.contains(SHOWN)) {
            return Some(Self(None));
        }
        let [moto, curl] = peers::find(["moto_server", "curl"])?;
        let port = free_port().unwrap();
        let server = Server::start(Command::new(moto).args(["-p", &port.to_string()]), port).unwrap();
        let bucket = format!("{}{BUCKET}", server.url());
        let _ = Run::of(Command::new(curl).args(["-sS", "--fail", "-X", "PUT", &bucket])).with_code(0);
        Some(Self(Some((server, port))))
    }

    /// Puts the server into a command.
    pub(crate) fn place(&self, command: &str) -> String {
        match &self.0 {
            Some((_, port)) => command.replace(SHOWN, &format!("127.0.0.1:{port}")),
            None => command.to_owned(),
        }
    }
}
