//! A chain of aggregators: A serves, B follows and publishes again, C copies B (§14.8).

use std::{fs, path::Path, process::Command};

use instep_testkit::{Run, Server, Tree, free_port, generate, instep, wait_until};

/// Starts a command that serves; it listens when its first publication is complete.
fn listening<'a>(arguments: impl IntoIterator<Item = &'a str>, folder: &Path) -> Server {
    let port = free_port().unwrap();
    let mut command = instep(arguments);
    Server::start(command.arg(folder).args(["--listen", &format!("127.0.0.1:{port}")]), port).unwrap()
}

fn get(url: &str) -> String {
    Run::of(Command::new("curl").args(["-sf", url])).stdout
}

fn sync(url: &str, copy: &Path) -> Run {
    Run::of(instep(["sync", url]).arg(copy).args(["--delete", "--max-delete", "100%"]))
}

struct Chain {
    place: tempfile::TempDir,
    a: Server,
    b: Server,
}

impl Chain {
    fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        generate::tree(&place.path().join("a"), 40, 10..3000, 7).unwrap();
        fs::write(place.path().join("a/an other.txt"), "with a space").unwrap();
        let a = listening(["serve"], &place.path().join("a"));
        let options = ["--delete", "--max-delete", "100%", "--follow", "--republish", "--interval", "50ms"];
        let b = listening(
            ["sync", &a.url()].into_iter().chain(options).collect::<Vec<_>>(),
            &place.path().join("b"),
        );
        Self { place, a, b }
    }

    fn folder(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }

    fn b_says(&self, what: &[&str]) -> bool {
        let list = get(&format!("{}resourcesync/changelist-000001.xml", self.b.url()));
        what.iter().all(|what| list.contains(what))
    }
}

#[test]
fn changes_flow_through_a_relay_with_equal_bytes_and_links_to_the_original() {
    let chain = Chain::start();
    let (files, copy) = (chain.folder("a"), chain.folder("c"));
    let _ = sync(&chain.b.url(), &copy).with_code(0);
    assert_eq!(Tree::of(&files), Tree::of(&copy));

    fs::write(files.join("d0000/new.txt"), "new").unwrap();
    fs::write(files.join("d0000/f0000001.txt"), "other bytes").unwrap();
    fs::remove_file(files.join("d0000/f0000002.txt")).unwrap();
    wait_until("B lists the changes", || {
        chain.b_says(&["change=\"created\"", "change=\"updated\"", "change=\"deleted\""])
    });
    let _ = sync(&chain.b.url(), &copy).with_code(0);
    assert_eq!(Tree::of(&files), Tree::of(&copy));

    let audit = || Run::of(instep(["audit", "--origin", &chain.a.url()]).arg(&copy));
    let right = audit().with_code(0).stdout;
    assert!(right.starts_with("In step: 41 same"), "{right}");
    let c = listening(["republish"], &copy);
    let (told_by_b, told_by_c) = (
        get(&format!("{}resourcesync/changelist-000001.xml", chain.b.url())),
        get(&format!("{}resourcesync/resourcelist.xml", c.url())),
    );
    let origin = format!("<rs:ln rel=\"via\" href=\"{}d0000/new.txt\"", chain.a.url());
    assert_eq!(told_by_b.matches(&origin).count(), 1, "{told_by_b}");
    assert_eq!(told_by_c.matches(&origin).count(), 1, "{told_by_c}");
    assert!(told_by_c.contains(&format!("<loc>{}d0000/new.txt</loc>", c.url())), "{told_by_c}");
    let resources = Tree::of(&files).names().len();
    assert_eq!(told_by_c.matches("rel=\"via\"").count(), resources, "{told_by_c}");
    assert!(!told_by_c.contains(&chain.b.url()), "nothing of C speaks of B: {told_by_c}");

    fs::write(files.join("d0000/new.txt"), "newer than that").unwrap();
    wait_until("the audit finds the difference", || audit().code == Some(20));
    let wrong = audit().stdout;
    assert!(wrong.contains(&format!("~ {}d0000/new.txt", chain.a.url())), "{wrong}");
}

#[test]
fn d45_what_is_corrupted_at_a_relay_is_refused_behind_it() {
    let chain = Chain::start();
    let damaged = chain.folder("b").join("d0000/f0000003.txt");
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[0] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let copy = chain.folder("c");
    let run = sync(&chain.b.url(), &copy).with_code(3);
    assert!(run.stderr.contains("d0000/f0000003.txt"), "{}", run.stderr);
    let mut right = Tree::of(&chain.folder("a"));
    right.0.remove("d0000/f0000003.txt");
    assert_eq!(Tree::of(&copy), right);
}

#[test]
fn copies_are_published_again_as_files_and_nothing_new_writes_nothing() {
    let chain = Chain::start();
    let copy = chain.folder("c");
    let _ = sync(&chain.b.url(), &copy).with_code(0);
    let republish = || {
        let mut command = instep(["republish", "--base-url", "http://c.example.org/"]);
        Run::of(command.arg(&copy)).with_code(0).stdout
    };
    let first = republish();
    assert!(first.starts_with("Published: +41"), "{first}");
    let again = republish();
    assert!(again.starts_with("Nothing new") && again.contains("=41"), "{again}");
    let list = fs::read_to_string(copy.join("resourcesync/resourcelist.xml")).unwrap();
    let loc = "<loc>http://c.example.org/an%20other.txt</loc>";
    let via = format!("rel=\"via\" href=\"{}an%20other.txt\"", chain.a.url());
    assert!(list.contains(loc) && list.contains(&via), "{list}");
    let _ = Run::of(instep(["audit", &chain.b.url()]).arg(&copy)).with_code(0);
}

#[test]
fn several_copies_are_one_source_each_below_its_name() {
    let chain = Chain::start();
    let (one, other) = (chain.folder("one"), chain.folder("other"));
    let _ = sync(&chain.a.url(), &one).with_code(0);
    let _ = sync(&chain.b.url(), &other).with_code(0);
    let documents = chain.folder("documents");
    let mut command = instep(["republish", "--base-url", "http://all.example.org/", "--out"]);
    let _ = Run::of(command.arg(&documents).args([&one, &other])).with_code(0);
    let list = fs::read_to_string(documents.join("resourcesync/resourcelist.xml")).unwrap();
    for name in ["one", "other"] {
        assert_eq!(list.matches(&format!("<loc>http://all.example.org/{name}/")).count(), 41, "{list}");
    }
    let configuration = chain.folder("instep.toml");
    let sets = "[[set]]\nname = \"x\"\nfrom = \"one\"\nprefix = \"x/\"\n[[set]]\nname = \"y\"\nfrom = \"other\"\nprefix = \"y/\"\n";
    fs::write(&configuration, sets).unwrap();
    let mut command = instep(["publish", "--base-url", "http://sets.example.org/", "--config"]);
    let _ = Run::of(command.arg(&configuration).arg(chain.place.path())).with_code(0);
    let list = fs::read_to_string(chain.folder("resourcesync/y/resourcelist.xml")).unwrap();
    assert_eq!(list.matches("<loc>http://sets.example.org/y/").count(), 41, "{list}");
}

#[test]
fn c41_a_copy_to_publish_is_named_from_the_current_folder() {
    let chain = Chain::start();
    let _ = sync(&chain.b.url(), &chain.folder("copy")).with_code(0);
    fs::create_dir(chain.folder("out")).unwrap();
    let mut command = instep(["publish", "out", "--from", "copy", "--base-url", "http://c.example.org/"]);
    let said = Run::of(command.current_dir(chain.place.path())).with_code(0).stdout;
    assert!(said.starts_with("Published: +41"), "{said}");
}
