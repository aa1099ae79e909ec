//! The examples do what their first lines say.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the program of an example, which Cargo builds beside the tests.
fn example(name: &str) -> Command {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    let built = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if built(&path) < built(&std::env::current_exe().unwrap()) {
        // A run of this test alone builds no examples: there is none, or that of an earlier state.
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", "instep-source", "--example", name]);
        assert!(cargo.status().unwrap().success());
    }
    Command::new(path)
}

fn lines(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn document(out: &Path, name: &str) -> String {
    fs::read_to_string(out.join("resourcesync").join(name)).unwrap()
}

#[test]
fn a_folder_is_published_once_and_what_changed_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "one").unwrap();
    let publish = || lines(example("publish").arg(folder.path()).arg("https://example.org/data"));
    let first = publish();
    assert_eq!(first[0], "1 created, 0 updated, 0 deleted");
    assert!(first.iter().any(|name| name.ends_with("resourcedump.xml")), "{first:?}");
    assert!(document(folder.path(), "resourcelist.xml").contains("https://example.org/data/a.txt"));
    assert_eq!(publish(), ["0 created, 0 updated, 0 deleted"]);
}

#[test]
fn an_application_reports_its_own_changes() {
    let folder = tempfile::tempdir().unwrap();
    let said = lines(example("report_changes").arg(folder.path()));
    assert_eq!(said, ["2 resources", "1 updated, 1 deleted"]);
    let changes = document(folder.path(), "changelist-000001.xml");
    for change in ["updated", "deleted"] {
        assert!(changes.contains(&format!("change=\"{change}\"")), "{changes}");
    }
}

#[cfg(feature = "serve")]
mod mounted {
    use std::{
        fs,
        io::{BufRead, BufReader, Read, Write},
        net::TcpStream,
        process::{Child, Stdio},
    };

    use super::example;

    /// A server that ends with the test.
    struct Server(Child);

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn get(host: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_source_is_mounted_in_an_application() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "one").unwrap();
        let mut mount = example("mount");
        mount.arg(folder.path()).arg("127.0.0.1:0").stdout(Stdio::piped());
        let mut server = Server(mount.spawn().unwrap());
        let mut base = String::new();
        BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut base).unwrap();
        let host = base.trim().strip_prefix("http://").unwrap().trim_end_matches('/');
        // The socket listens already: requests wait until the documents are complete.
        assert!(get(host, "/mine").ends_with("my own page"));
        assert!(get(host, "/a.txt").ends_with("one"));
        assert!(get(host, "/resourcesync/resourcelist.xml").contains(&format!("http://{host}/a.txt")));
    }
}
