//! Row S8: answers as nginx gives them, except where RFC 9110 says otherwise.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
};

use instep_testkit::wait_until;
use tempfile::TempDir;

use super::{
    raw::{self, Answer, connect, get, request},
    server::{Server, folder},
};

/// Last modification of the files that are asked for.
const THEN: &str = "Tue, 14 Nov 2023 22:13:20 GMT";

/// A placeholder for the ETag that the server itself gives.
const ETAG: &str = "ETAG";

/// The relation of our answer to that of nginx.
enum Expect {
    Same,
    /// Another status, with the reason.
    Differs(u16, &'static str),
}
use Expect::{Differs, Same};

/// Method, target, headers.
fn requests() -> Vec<(&'static str, &'static str, Vec<&'static str>, Expect)> {
    let table: &[(&str, &str, &[&str], Expect)] = &[
        ("GET", "/a.txt", &[], Same),
        ("HEAD", "/a.txt", &[], Same),
        ("GET", "/empty.txt", &[], Same),
        ("GET", "/absent.txt", &[], Same),
        ("HEAD", "/absent.txt", &[], Same),
        ("GET", "/with%20space.txt", &[], Same),
        ("GET", "/d/", &[], Same),
        ("GET", "/d", &[], Same),
        ("GET", "/big.bin", &[], Same),
        ("GET", "/a.txt?query=1", &[], Same),
        ("POST", "/a.txt", &["Content-Length: 0"], Same),
        ("PUT", "/a.txt", &["Content-Length: 0"], Same),
        ("GET", "/a.txt", &["Range: bytes=0-9"], Same),
        ("GET", "/a.txt", &["Range: bytes=10-"], Same),
        ("GET", "/a.txt", &["Range: bytes=-10"], Same),
        ("GET", "/a.txt", &["Range: bytes=0-0"], Same),
        ("GET", "/a.txt", &["Range: bytes=90-500"], Same),
        ("GET", "/a.txt", &["Range: bytes=-500"], Same),
        ("GET", "/a.txt", &["Range: bytes=100-"], Same),
        ("GET", "/a.txt", &["Range: bytes=500-600"], Same),
        ("GET", "/a.txt", &["Range: bytes=9-3"], Same),
        ("GET", "/a.txt", &["Range: bytes=-0"], Same),
        ("GET", "/a.txt", &["Range: bytes=x-y"], Same),
        ("GET", "/a.txt", &["Range: lines=0-9"], Same),
        (
            "GET",
            "/a.txt",
            &["Range: bytes=0-9,20-29"],
            Differs(200, "several ranges are answered as one whole"),
        ),
        ("GET", "/a.txt", &["Range: bytes=0-99,0-99,0-99,0-99,0-99,0-99,0-99,0-99,0-99"], Same),
        ("HEAD", "/a.txt", &["Range: bytes=0-9"], Differs(200, "RFC 9110 §14.2: a range is for GET")),
        ("GET", "/big.bin", &["Range: bytes=100000-299999"], Same),
        ("GET", "/empty.txt", &["Range: bytes=0-"], Same),
        ("GET", "/a.txt", &["If-None-Match: ETAG"], Same),
        ("HEAD", "/a.txt", &["If-None-Match: ETAG"], Same),
        ("GET", "/a.txt", &["If-None-Match: W/ETAG"], Same),
        ("GET", "/a.txt", &["If-None-Match: \"other\", ETAG"], Same),
        ("GET", "/a.txt", &["If-None-Match: *"], Same),
        ("GET", "/a.txt", &["If-None-Match: \"other\""], Same),
        ("GET", "/a.txt", &["If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT"], Same),
        ("GET", "/a.txt", &["If-Modified-Since: Tue, 14 Nov 2023 22:13:19 GMT"], Same),
        ("GET", "/a.txt", &["If-Modified-Since: Tue, 14 Nov 2023 22:13:21 GMT"], Same),
        ("GET", "/a.txt", &["If-Modified-Since: nonsense"], Same),
        (
            "GET",
            "/a.txt",
            &["If-None-Match: \"other\"", "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT"],
            Same,
        ),
        (
            "GET",
            "/a.txt",
            &["If-None-Match: ETAG", "If-Modified-Since: Tue, 14 Nov 2023 22:13:19 GMT"],
            Differs(304, "RFC 9110 §13.1.3: If-None-Match alone counts"),
        ),
        ("GET", "/a.txt", &["If-Match: ETAG"], Same),
        ("GET", "/a.txt", &["If-Match: \"other\""], Same),
        ("GET", "/a.txt", &["If-Match: *"], Same),
        ("GET", "/a.txt", &["If-Match: W/ETAG"], Same),
        ("GET", "/a.txt", &["If-Unmodified-Since: Tue, 14 Nov 2023 22:13:20 GMT"], Same),
        ("GET", "/a.txt", &["If-Unmodified-Since: Tue, 14 Nov 2023 22:13:19 GMT"], Same),
        ("GET", "/a.txt", &["Range: bytes=0-9", "If-Range: ETAG"], Same),
        ("GET", "/a.txt", &["Range: bytes=0-9", "If-Range: \"other\""], Same),
        ("GET", "/a.txt", &["Range: bytes=0-9", "If-Range: Tue, 14 Nov 2023 22:13:20 GMT"], Same),
        ("GET", "/a.txt", &["Range: bytes=0-9", "If-Range: Tue, 14 Nov 2023 22:13:19 GMT"], Same),
        ("GET", "/a.txt", &["Range: bytes=0-9", "If-None-Match: ETAG"], Same),
    ];
    table
        .iter()
        .map(|(method, target, headers, expect)| {
            let expect = match expect {
                Same => Same,
                Differs(status, reason) => Differs(*status, reason),
            };
            (*method, *target, headers.to_vec(), expect)
        })
        .collect()
}

fn files() -> TempDir {
    let big: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
    folder(&[
        ("a.txt", &[b'a'; 100]),
        ("empty.txt", b""),
        ("with space.txt", b"space"),
        ("d/index.html", b"<p>d"),
        ("big.bin", &big),
    ])
}

/// Sends a request in which `ETAG` stands for the server's own tag of the target.
fn ask(server: SocketAddr, method: &str, target: &str, headers: &[&str]) -> Answer {
    let etag = request(server, "HEAD", target, &[]).header("etag").unwrap_or("\"none\"").to_owned();
    let headers: Vec<String> = headers.iter().map(|line| line.replace(ETAG, &etag)).collect();
    request(server, method, target, &headers.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn s8_answers_are_those_of_nginx() {
    let Some(nginx) = Nginx::start(files()) else {
        assert!(std::env::var_os("CI").is_none(), "nginx is missing");
        return;
    };
    let server = Server::with(files(), |_| ());
    let requests = requests();
    assert!(requests.len() >= 40);
    for (method, target, headers, expect) in requests {
        let what = format!("{method} {target} {headers:?}");
        let ours = ask(server.address, method, target, &headers);
        let theirs = ask(nginx.address, method, target, &headers);
        match expect {
            Differs(status, reason) => {
                assert_eq!(ours.status, status, "{what}");
                assert_ne!(theirs.status, status, "{what}: no longer differs: {reason}");
                continue;
            }
            Same => assert_eq!(ours.status, theirs.status, "{what}"),
        }
        assert_eq!(ours.header("content-range"), theirs.header("content-range"), "{what}");
        if (200..300).contains(&ours.status) {
            for name in ["content-length", "last-modified", "content-type"] {
                assert_eq!(ours.header(name), theirs.header(name), "{what}: {name}");
            }
            assert_eq!(ours.body, theirs.body, "{what}");
        }
        if matches!(ours.status, 200 | 206 | 304) {
            assert!(ours.header("etag").is_some_and(|tag| tag.starts_with('"')), "{what}: no strong ETag");
        }
        if ours.status == 301 {
            assert!(theirs.header("location").unwrap().ends_with(ours.header("location").unwrap()), "{what}");
        }
    }
}

#[test]
fn the_etag_is_that_of_the_bytes_and_changes_with_them() {
    let server = Server::with(files(), |_| ());
    let before = get(server.address, "/a.txt");
    assert_eq!(before.header("last-modified"), Some(THEN));
    let other = server.path("copy.txt");
    fs::write(&other, [b'a'; 100]).unwrap();
    server.wait_for_change("copy.txt");
    assert_eq!(
        get(server.address, "/copy.txt").header("etag"),
        before.header("etag"),
        "equal bytes, equal tag"
    );
    fs::write(server.path("a.txt"), [b'b'; 100]).unwrap();
    let after = get(server.address, "/a.txt");
    assert_eq!(after.body, [b'b'; 100]);
    assert_ne!(after.header("etag"), before.header("etag"));
}

#[test]
fn s8_a_prepared_encoding_has_its_own_etag_and_varies() {
    let server = Server::with(files(), |options| options.publish.gzip_twins = true);
    // The Capability List becomes another one when the first dump is ready.
    let target = "/resourcesync/resourcelist.xml";
    let plain = get(server.address, target);
    let coded = request(server.address, "GET", target, &["Accept-Encoding: br, gzip;q=0.5"]);
    let refused = request(server.address, "GET", target, &["Accept-Encoding: gzip;q=0, *;q=0"]);
    assert_eq!(coded.header("content-encoding"), Some("gzip"));
    assert!(coded.body.starts_with(&[0x1f, 0x8b]));
    assert_eq!(coded.header("content-type"), Some("application/xml"));
    assert_ne!(coded.header("etag"), plain.header("etag"));
    for answer in [&plain, &coded, &refused] {
        assert_eq!(answer.header("vary"), Some("accept-encoding"));
    }
    assert_eq!((refused.header("content-encoding"), &refused.body), (None, &plain.body));
}

#[test]
fn requests_follow_each_other_on_one_connection() {
    use std::io::{Read, Write};
    let server = Server::with(files(), |_| ());
    let mut stream = connect(server.address);
    let head = format!("HEAD /a.txt HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let last = format!("GET /a.txt HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
    stream.write_all(format!("{head}{head}{last}").as_bytes()).unwrap();
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    assert_eq!(String::from_utf8_lossy(&answers).matches("HTTP/1.1 200 OK").count(), 3);
    assert!(raw::answer(&answers).is_some());
}

/// nginx over a folder, with its defaults.
pub(crate) struct Nginx {
    pub(crate) address: SocketAddr,
    process: Child,
    _folders: [TempDir; 2],
}

impl Nginx {
    fn start(root: TempDir) -> Option<Self> {
        Self::with(root, "")
    }

    /// Starts nginx with a snippet in its `server` block; `None` if nginx is not installed.
    pub(crate) fn with(root: TempDir, snippet: &str) -> Option<Self> {
        Self::working_as("", root, snippet)
    }

    /// Starts nginx with a directive that says whose rights its workers have.
    pub(crate) fn working_as(user: &str, root: TempDir, snippet: &str) -> Option<Self> {
        let state = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (here, root_path) = (state.path().display(), root.path().display());
        // Everybody may look: nginx drops its privileges.
        open_to_all(state.path());
        open_to_all(root.path());
        let config = format!(
            "{user} daemon off; pid {here}/pid; error_log {here}/error; events {{}} http {{ access_log off; \
             types {{ text/plain txt; text/html html; }} default_type application/octet-stream; \
             if_modified_since before; absolute_redirect off; \
             client_body_temp_path {here}/b; proxy_temp_path {here}/p; fastcgi_temp_path {here}/f; \
             uwsgi_temp_path {here}/u; scgi_temp_path {here}/s; \
             server {{ listen {address}; root {root_path}; {snippet} }} }}"
        );
        let path = state.path().join("nginx.conf");
        fs::write(&path, config).unwrap();
        let mut command = Command::new("nginx");
        command.env("PATH", "/usr/sbin:/usr/local/sbin:/usr/bin:/bin");
        command.arg("-c").arg(&path).arg("-e").arg(state.path().join("error"));
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        wait_until("nginx listens", || {
            if process.try_wait().unwrap().is_some() {
                panic!("nginx ended: {}", fs::read_to_string(state.path().join("error")).unwrap_or_default());
            }
            std::net::TcpStream::connect(address).is_ok()
        });
        Some(Self { address, process, _folders: [state, root] })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A quick end of the master takes its workers along.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

fn open_to_all(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}
