//! A place where the commands of a page run: folders, ports and a Source of their own.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use instep_testkit::{Run, free_port, instep};
use tempfile::TempDir;

use crate::storage::Storage;

/// Folders in place of `/srv` and of the working directory, and a Source in place of `https://example.org/`.
pub(crate) struct Sandbox {
    folder: TempDir,
    ports: [u16; 3],
    source: Child,
    storage: Storage,
}

impl Sandbox {
    pub(crate) fn new(storage: Storage) -> Self {
        let folder = TempDir::new().unwrap();
        let ports = [(); 3].map(|()| free_port().unwrap());
        for parent in ["srv/data", "data", "source"] {
            fs::create_dir_all(folder.path().join(parent).join("letters")).unwrap();
            for name in ["a.txt", "b.json", "letters/c.txt"] {
                fs::write(folder.path().join(parent).join(name), format!("{{\"{name}\": 1}}\n")).unwrap();
            }
        }
        for empty in ["srv/backup", "home"] {
            fs::create_dir_all(folder.path().join(empty)).unwrap();
        }
        let listen = format!("127.0.0.1:{}", ports[0]);
        let mut source = instep(["serve", "source", "--quiet", "--listen", &listen]);
        let source = source.current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap();
        Self { folder, ports, source, storage }
    }

    /// Runs the commands in a shell that ends with the first one that fails.
    pub(crate) fn run(&self, page: &str, commands: &[String]) {
        let mut script = String::from("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n");
        script += &wait_for(self.ports[0]);
        for command in commands {
            let command = self.place(command);
            let _ = writeln!(script, "echo '>' {}", quoted(&command));
            script += &command;
            script += "\n";
            if command.ends_with('&')
                && let Some(address) = command.split("--listen ").nth(1)
            {
                let port = address.split_whitespace().next().unwrap().rsplit(':').next().unwrap();
                script += &wait_for(port.parse().unwrap());
            }
        }
        let mut shell = Command::new("timeout");
        shell.args(["300", "bash", "-c", &script]).current_dir(self.folder.path()).stdin(Stdio::null());
        let home = self.folder.path().join("home");
        shell.env("PATH", path()).env("HOME", &home).env("XDG_CONFIG_HOME", &home);
        let run = Run::of(&mut shell);
        assert_eq!(run.code, Some(0), "{page}\n{}\n{}", run.stdout, run.stderr);
    }

    /// Puts the places of this sandbox into a command.
    fn place(&self, command: &str) -> String {
        let srv = format!("{}/srv/", self.folder.path().display());
        self.storage
            .place(command)
            .replace("cargo run --", "instep")
            .replace("https://example.org/", &format!("http://127.0.0.1:{}/", self.ports[0]))
            .replace("127.0.0.1:8080", &format!("127.0.0.1:{}", self.ports[1]))
            .replace("127.0.0.1:8081", &format!("127.0.0.1:{}", self.ports[2]))
            .replace("/srv/", &srv)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.source.kill());
        drop(self.source.wait());
    }
}

/// Returns a line that waits until somebody listens.
fn wait_for(port: u16) -> String {
    format!("until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.05; done\n")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns the path of programs, with this build's first.
fn path() -> String {
    let program = instep([""; 0]);
    let folder = Path::new(program.get_program()).parent().map(PathBuf::from).unwrap_or_default();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}
