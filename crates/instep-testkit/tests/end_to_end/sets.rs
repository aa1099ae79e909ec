//! A Source of several sets, one of which is taken out of its configuration.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use instep_testkit::{Run, Server, Tree, free_port, instep};
use tokio_tungstenite::tungstenite;

/// `instep serve` with two folders, each a set if the configuration names it.
struct Sets {
    place: tempfile::TempDir,
    port: u16,
    server: Option<Server>,
}

impl Sets {
    fn start(names: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        for name in ["x", "y"] {
            fs::create_dir_all(place.path().join("files").join(name)).unwrap();
            fs::write(place.path().join("files").join(name).join("a.txt"), name).unwrap();
        }
        let mut sets = Self { place, port: free_port().unwrap(), server: None };
        sets.serve(names);
        sets
    }

    /// Serves these sets, again on the same port.
    fn serve(&mut self, names: &[&str]) {
        self.server = None;
        let set =
            |name: &&str| format!("[[set]]\nname = \"{name}\"\ncontent = \"{name}\"\nprefix = \"{name}/\"\n");
        let file = self.path("instep.toml");
        fs::write(&file, names.iter().map(set).collect::<String>()).unwrap();
        let listen = format!("127.0.0.1:{}", self.port);
        let mut command = instep(["serve", "--interval", "50ms", "--listen", &listen, "--config"]);
        self.server = Some(Server::start(command.arg(file).arg(self.path("files")), self.port).unwrap());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

/// `sync --follow`, and its output.
struct Follower {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Follower {
    fn start(sets: &Sets) -> Self {
        let mut command = instep(["sync", &sets.url(), "--delete", "--follow", "--json"]);
        let command = command.arg(sets.path("copy")).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn says(&mut self, what: &str) -> bool {
        self.lines.any(|line| line.is_ok_and(|line| line.contains(what)))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(Command::new("kill").arg(self.child.id().to_string()).status());
        drop(self.child.wait());
    }
}

#[test]
fn fn_2_a_set_that_is_taken_out_is_told_to_be_gone_and_nothing_is_deleted_for_it() {
    let mut sets = Sets::start(&["x", "y"]);
    let mut follower = Follower::start(&sets);
    assert!(follower.says("y/a.txt"));
    sets.serve(&["x"]);

    let socket =
        |name: &str| format!("ws://127.0.0.1:{}/resourcesync/{name}/framework-notification", sets.port);
    let (mut last_word, _) = tungstenite::connect(socket("y")).unwrap();
    let message = last_word.read().unwrap().into_text().unwrap();
    let list = format!("<loc>{}resourcesync/y/capabilitylist.xml</loc>", sets.url());
    assert!(message.contains(&list) && message.contains("capability=\"capabilitylist\""), "{message}");
    assert!(message.contains("change=\"deleted\""), "{message}");
    let others = Run::of(Command::new("curl").args(["-sf", &socket("x").replacen("ws", "http", 1)])).stdout;
    assert!(others.contains(&list) && others.contains("change=\"deleted\""), "FN-5: {others}");
    assert!(others.contains("capability=\"description\""), "FN-5: {others}");

    // The sets that are left are still followed.
    fs::write(sets.path("files/x/a.txt"), "changed").unwrap();
    assert!(follower.says("x/a.txt"));
    drop(follower);
    assert_eq!(Tree::of(&sets.path("copy")).names(), ["x/a.txt", "y/a.txt"]);
    assert_eq!(fs::read_to_string(sets.path("copy/x/a.txt")).unwrap(), "changed");
}

#[test]
fn an_audit_by_origin_names_what_no_set_of_the_original_has() {
    let mut sets = Sets::start(&["x", "y"]);
    let (url, copy) = (sets.url(), sets.path("copy"));
    let _ = Run::of(instep(["sync", &url]).arg(&copy)).with_code(0);
    let audit = || Run::of(instep(["audit", "--origin", &url]).arg(&copy));
    assert!(audit().with_code(0).stdout.starts_with("In step: 2 same"));
    fs::create_dir(sets.path("files/z")).unwrap();
    fs::write(sets.path("files/z/b.txt"), "z").unwrap();
    sets.serve(&["x", "z"]);
    let run = audit().with_code(20);
    assert!(run.stdout.contains(&format!("- {url}y/a.txt")), "{}", run.stdout);
    assert!(!run.stdout.contains("x/a.txt"), "{}", run.stdout);
}
