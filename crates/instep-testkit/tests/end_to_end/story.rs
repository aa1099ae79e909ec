//! All commands in one sequence: publish, serve, copy, change, follow, audit.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use instep_testkit::{Run, Tree, free_port, generate, instep, peers, wait_until};

/// `instep serve` over a folder; killed when dropped.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(files: &Path) -> Self {
        let address = format!("127.0.0.1:{}", free_port().unwrap());
        let mut command = instep(["serve", "--listen", &address]);
        let silent = command.arg(files).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = silent.spawn().unwrap();
        // It listens only when the first publication is complete.
        wait_until("serve listens", || {
            assert_eq!(child.try_wait().unwrap(), None, "serve ended");
            std::net::TcpStream::connect(&address).is_ok()
        });
        Self { child, url: format!("http://{address}/") }
    }

    fn terminate(&mut self) -> Option<i32> {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn assert_copied(files: &Path, copy: &Path) {
    assert_eq!(Tree::of(files), Tree::of(copy));
}

#[test]
fn a_served_folder_is_copied_changed_followed_and_audited() {
    let place = tempfile::tempdir().unwrap();
    let (files, copy) = (place.path().join("files"), place.path().join("copy"));
    generate::tree(&files, 120, 0..2000, 3).unwrap();
    let mut serving = Serving::start(&files);
    let sync =
        |options: &[&str]| Run::of(instep(["sync", &serving.url]).arg(&copy).args(options)).with_code(0);
    let _ = sync(&[]);
    assert_copied(&files, &copy);

    fs::write(files.join("d0000/new.txt"), "new").unwrap();
    fs::remove_file(files.join("d0000/f0000001.txt")).unwrap();
    let told = || {
        let list = Run::of(
            Command::new("curl").args(["-s", &format!("{}resourcesync/changelist-000001.xml", serving.url)]),
        );
        ["created", "deleted"].iter().all(|change| list.stdout.contains(&format!("change=\"{change}\"")))
    };
    wait_until("the changes are listed", told);
    let _ = sync(&["--delete"]);
    assert_copied(&files, &copy);
    let _ = Run::of(instep(["audit", &serving.url]).arg(&copy)).with_code(0);
    assert_eq!(serving.terminate(), Some(143));
}

#[test]
fn a_batch_a_dump_and_a_list_of_one_source_give_equal_copies() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    generate::tree(&files, 60, 0..3000, 5).unwrap();
    let serving = Serving::start(&files);
    for way in ["batch", "dump", "list"] {
        let copy = place.path().join(way);
        let sync = || instep(["sync", &serving.url, "--via", way, "--json"]);
        let run = Run::of(sync().arg(&copy)).with_code(0);
        assert!(run.stdout.contains(&format!("\"strategy\":\"{way}\"")), "{}", run.stdout);
        assert_copied(&files, &copy);
    }
}

#[test]
fn curl_sees_the_headers_that_a_reader_needs() {
    let Some([curl]) = peers::find(["curl"]) else { return };
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("a.txt"), "0123456789").unwrap();
    let serving = Serving::start(place.path());
    let ask = |path: &str, arguments: &[&str]| {
        let url = format!("{}{path}", serving.url);
        Run::of(Command::new(&curl).args(["-s", "-D", "-"]).args(arguments).arg(url)).with_code(0).stdout
    };
    let header = |answer: &str, name: &str| {
        let lines = answer.lines().filter_map(|line| line.split_once(": "));
        let mut values =
            lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned());
        values.next().unwrap_or_default()
    };
    let answer = ask("a.txt", &[]);
    let etag = header(&answer, "etag");
    assert!(etag.starts_with('"') && header(&answer, "link").contains("rel=\"resourcesync\""), "{answer}");
    assert!(!header(&answer, "last-modified").is_empty(), "{answer}");
    assert!(ask("a.txt", &["-I"]).contains("200"));
    assert!(ask("a.txt", &["-H", &format!("If-None-Match: {etag}")]).contains("304"));
    let part = ask("a.txt", &["-r", "2-4"]);
    assert!(part.contains("206") && part.ends_with("234"), "{part}");
    assert!(ask(".well-known/resourcesync", &[]).contains("capability=\"description\""));
    assert!(ask("robots.txt", &[]).contains("Sitemap:"));
    for path in [".instep/", "../etc/passwd", "%2e%2e/etc/passwd", ".hidden"] {
        let refused = ask(path, &["--path-as-is"]);
        assert!(refused.contains(" 404") || refused.contains(" 400"), "{path}: {refused}");
    }
}

#[test]
fn demo_ends_by_itself_and_all_is_equal() {
    let run = Run::of(&mut instep(["demo"])).with_code(0);
    assert!(run.stdout.lines().count() >= 10, "{}", run.stdout);
}
