//! Messages about failures: what failed, for which path or URL, why, and what to do next, each once.

use std::{
    fs::{self, Permissions},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{FakeSource, Fault, Run, Server, free_port, instep};

/// A run that fails: its arguments, its exit code, the lines on standard error. `URL` and `DIR` stand for the Source
/// and a folder.
struct Case {
    arguments: &'static [&'static str],
    code: i32,
    said: &'static [&'static str],
}

struct Scene {
    source: FakeSource,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            source: FakeSource::start().with_resources([("a.txt", "one"), ("b.txt", "two")]),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn check(&self, Case { arguments, code, said }: &Case) {
        let (url, dir) = (self.source.url(""), self.folder.path().display().to_string());
        let filled = arguments.iter().map(|argument| argument.replace("URL/", &url).replace("DIR", &dir));
        let run = Run::of(&mut instep(filled)).with_code(*code);
        let stderr = run.stderr.replace(&url, "URL/").replace(&dir, "DIR");
        let lines: Vec<_> = stderr.lines().collect();
        assert_eq!(lines, *said, "{arguments:?}");
        assert!((1..=3).contains(&lines.len()), "{lines:?}");
    }
}

#[test]
fn p15_errors_of_folders_name_the_path_and_what_to_do() {
    let scene = Scene::new();
    fs::write(scene.path("file"), "").unwrap();
    fs::create_dir(scene.path("full")).unwrap();
    fs::write(scene.path("full/mine.txt"), "").unwrap();
    fs::create_dir(scene.path("linked")).unwrap();
    std::os::unix::fs::symlink(scene.path("full"), scene.path("linked/.instep")).unwrap();
    for folder in ["newer", "broken"] {
        let _ = Run::of(instep(["sync"]).arg(scene.source.url("")).arg(scene.path(folder))).with_code(0);
    }
    let newer = rusqlite::Connection::open(scene.path("newer/.instep/state.sqlite")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    fs::write(scene.path("broken/.instep/state.sqlite"), "no database at all, but long enough to be one")
        .unwrap();
    const KEEP: &str = "  Keep correct files with --adopt, put the copy beside them with --into-existing, or choose another folder";
    let cases = [
        Case {
            arguments: &["sync", "URL/", "DIR/file"],
            code: 8,
            said: &[
                "instep: Cannot open DIR/file: it is not a folder",
                "  A part of this path is a file, but must be a folder: choose another folder, or move that file away",
            ],
        },
        Case {
            arguments: &["sync", "URL/", "DIR/full"],
            code: 6,
            said: &["instep: Refused: DIR/full is not a copy and has files, mine.txt among them", KEEP],
        },
        Case {
            arguments: &["sync", "URL/", "DIR/linked"],
            code: 8,
            said: &[
                "instep: Cannot use DIR/linked/.instep: it is blocked by something that is not a folder: move it away",
            ],
        },
        Case {
            arguments: &["status", "DIR/none"],
            code: 2,
            said: &["instep: DIR/none holds no copy", "  Make one with instep sync URL DIR"],
        },
        Case {
            arguments: &["audit", "URL/", "DIR/none"],
            code: 2,
            said: &["instep: DIR/none holds no copy", "  Make one with instep sync URL DIR"],
        },
        Case {
            arguments: &["audit", "--offline", "DIR/file"],
            code: 2,
            said: &["instep: DIR/file holds no copy", "  Make one with instep sync URL DIR"],
        },
        Case {
            arguments: &["sync", "URL/", "DIR/copy", "--ca-file", "DIR/none.pem", "--proxy", "ftp://h/"],
            code: 2,
            said: &["instep: The proxy cannot be used: its URL must begin with http://"],
        },
    ];
    cases.iter().for_each(|case| scene.check(case));
    let newer =
        Run::of(instep(["sync"]).arg(scene.source.url("")).arg(scene.path("newer"))).with_code(10).stderr;
    assert!(
        newer.contains("newer/.instep/state.sqlite has version 99; this program knows versions up to "),
        "{newer}"
    );
    assert!(newer.ends_with("  Use the version of instep that wrote it, or a later one\n"), "{newer}");
    let damaged = Run::of(instep(["sync"]).arg(scene.source.url("")).arg(scene.path("broken"))).with_code(8);
    assert!(damaged.stderr.contains("broken/.instep/state.sqlite") && damaged.stderr.contains("--adopt"));
}

#[test]
fn p15_a_locked_copy_names_its_holder_and_one_without_permission_its_path() {
    let scene = Scene::new();
    let copy = scene.path("copy");
    let _ = Run::of(instep(["sync"]).arg(scene.source.url("")).arg(&copy)).with_code(0);
    let lock = fs::File::open(copy.join(".instep/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let said = Run::of(instep(["sync"]).arg(scene.source.url("")).arg(&copy)).with_code(7).stderr;
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with(&format!("instep: {} is locked by process ", copy.display())), "{said}");
    assert_eq!(lines[1..], ["  Wait until the other run has ended"]);
    drop(lock);
    // Permissions do not apply to an administrator.
    if rustix::process::geteuid().is_root() {
        return;
    }
    fs::set_permissions(copy.join(".instep"), Permissions::from_mode(0o000)).unwrap();
    let said = Run::of(instep(["sync"]).arg(scene.source.url("")).arg(&copy)).with_code(8).stderr;
    fs::set_permissions(copy.join(".instep"), Permissions::from_mode(0o700)).unwrap();
    assert!(said.starts_with(&format!("instep: Cannot open {}/.instep", copy.display())), "{said}");
}

#[test]
fn p15_errors_of_hosts_say_the_url_once() {
    let scene = Scene::new();
    let port = free_port().unwrap();
    // It accepts connections but speaks an unknown protocol.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in mute.incoming().map_while(Result::ok) {
            let _ = std::io::Read::read(&mut stream, &mut [0; 512]);
            let _ = std::io::Write::write_all(&mut stream, b"\x15\x03\x01\x00\x02\x02\x46");
        }
    });
    let said = |arguments: &[&str], code: i32| -> Vec<String> {
        let run = Run::of(instep(["sync", "--retries", "0"]).args(arguments).arg(scene.path("copy")))
            .with_code(code);
        run.stderr.lines().map(str::to_owned).collect()
    };
    const NETWORK: &str = "  Check the URL and the network";
    let unknown = said(&["http://nowhere.invalid/"], 4);
    assert!(
        unknown[0].starts_with("instep: Cannot reach http://nowhere.invalid/: no connection: "),
        "{unknown:?}"
    );
    assert_eq!((unknown[0].matches("nowhere.invalid").count(), &*unknown[1]), (1, NETWORK));
    let refused = format!("http://127.0.0.1:{port}/");
    let expected =
        format!("instep: Cannot reach {refused}: no connection: Connection refused (os error 111)");
    assert_eq!(said(&[&refused], 4), [&*expected, NETWORK]);
    let no_tls = format!("https://{}/", scene.source.host());
    let expected =
        format!("instep: Cannot reach {no_tls}: no connection: it does not speak TLS; try http://");
    assert_eq!(said(&[&no_tls], 4), [&*expected, NETWORK]);
    let no_http = format!("http://{address}/");
    let lines = said(&[&no_http], 4);
    let why = "the transfer broke off: it does not answer in HTTP; if it speaks TLS, try https://";
    assert_eq!(lines, [&*format!("instep: Cannot reach {no_http}: {why}"), NETWORK]);

    for (status, advice) in [
        (401, "  Give a valid login with --bearer-file, --netrc or the [credentials] table of instep.toml"),
        (403, "  Give a valid login with --bearer-file, --netrc or the [credentials] table of instep.toml"),
        (404, "  Give the URL of the site, of a page of it, or of a document of the Source"),
        (500, "  The server has a fault; try again later, or ask its operator"),
    ] {
        scene.source.fail_always("capabilitylist.xml", Fault::Status(status));
        let url = scene.source.capability_list_url();
        let lines = said(&[&url], 4);
        assert!(
            lines[0].starts_with(&format!("instep: Cannot reach {url}: it answers {status}")),
            "{lines:?}"
        );
        assert_eq!((lines.len(), &*lines[1]), (2, advice));
    }
}

#[test]
fn o398_a_redirect_without_an_end_is_not_answered_with_another_host() {
    let scene = Scene::new();
    let (url, copy) = (scene.source.capability_list_url(), scene.folder.path().join("copy"));
    scene.source.fail_always("capabilitylist.xml", Fault::Redirect(url.clone()));
    let run = Run::of(&mut instep(["sync", &url, &copy.display().to_string()])).with_code(4);
    assert!(run.stderr.contains("more than 5 redirects"), "{}", run.stderr);
    assert!(!run.stderr.contains("--allow-origin"), "{}", run.stderr);
}

/// A server over TLS with a certificate; it lives as long as the value.
fn tls(folder: &Path, name: &str, request: &[&str], days: &str) -> (Server, PathBuf) {
    let (key, certificate) = (folder.join(format!("{name}.key")), folder.join(format!("{name}.pem")));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            days,
        ])
        .args(["-subj", "/CN=test", "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(request)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let files = folder.join(format!("{name}-files"));
    fs::create_dir(&files).unwrap();
    fs::write(files.join("a.txt"), "one").unwrap();
    let port = free_port().unwrap();
    let mut command = instep(["serve", "--listen", &format!("127.0.0.1:{port}"), "--tls-cert"]);
    let server =
        Server::start(command.arg(&certificate).arg("--tls-key").arg(&key).arg(files), port).unwrap();
    (server, certificate)
}

#[test]
fn p15_a_database_that_cannot_be_reached_is_named_once() {
    let scene = Scene::new();
    let place = format!("postgres://instep@127.0.0.1:{}/copies", free_port().unwrap());
    let mut sync = instep(["sync", "--state", &place]);
    let run = Run::of(sync.arg(scene.source.url("")).arg(scene.path("copy"))).with_code(8);
    assert_eq!(run.stderr.matches(&place).count(), 1, "{}", run.stderr);
    for part in ["Cannot use the state in ", "Connection refused", "Check that the server of the state runs"]
    {
        assert!(run.stderr.contains(part), "{part:?} is missing in\n{}", run.stderr);
    }
}

#[test]
fn p15_errors_of_tls_say_what_is_wrong_with_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let name = ["-addext", "subjectAltName=IP:127.0.0.1"];
    let (server, trusted) = tls(folder.path(), "right", &name, "30");
    let said = |url: &str, options: &[&str]| -> String {
        let mut command = instep(["sync", "--retries", "0", url]);
        Run::of(command.arg(folder.path().join("copy")).args(options)).with_code(4).stderr
    };
    let url = server.url().replace("http://", "https://");
    let unknown = said(&url, &[]);
    let why = "no connection: its certificate is from an authority that is not trusted here";
    assert_eq!(
        unknown.lines().collect::<Vec<_>>(),
        [
            &*format!("instep: Cannot reach {url}: {why}"),
            "  If you know the authority, trust it with --ca-file FILE"
        ]
    );
    let other = said(&url.replace("127.0.0.1", "localhost"), &["--ca-file", trusted.to_str().unwrap()]);
    assert!(other.contains("no connection: its certificate is for another name"), "{other}");
}
