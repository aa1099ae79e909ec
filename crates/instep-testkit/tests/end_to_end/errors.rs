//! The errors of a copy: each names the request, the answer and what to do (P15), and `status` names the Sources
//! (P10).

use std::{
    fs,
    path::{Path, PathBuf},
};

use instep_testkit::{FakeSource, Fault, Page, Run, Server, free_port, instep};

/// Returns a site that has only the pages of the test.
fn site(pages: &[(&str, &str, &str)]) -> FakeSource {
    let site = FakeSource::start();
    for path in [
        "",
        ".well-known/resourcesync",
        "robots.txt",
        "capabilitylist.xml",
        "resourcelist.xml",
        "changelist.xml",
        "sitemap.xml",
    ] {
        if pages.iter().all(|(name, ..)| *name != path) {
            site.fail_always(path, Fault::Status(404));
        }
    }
    for (path, media_type, text) in pages {
        site.serve(path, Page::from(*text).with_header("content-type", *media_type));
    }
    site
}

/// The answer that is served, the command with the places of site and copy, its exit code, and what its message has.
struct Case {
    pages: &'static [(&'static str, &'static str, &'static str)],
    command: &'static str,
    code: i32,
    words: &'static [&'static str],
}

const HOME: (&str, &str, &str) =
    ("", "text/html", "<!DOCTYPE html><html><head></head><body>Hello</body></html>");

const CASES: &[Case] = &[
    Case {
        pages: &[HOME],
        command: "sync {url} {dir}",
        code: 4,
        words: &[
            "No ResourceSync capability found at {url}. Tried:\n",
            "\n  {url}: a web page without a link of rel=\"resourcesync\"\n",
            "\n  {url}.well-known/resourcesync: it answers 404 Not Found\n",
            "\n  {url}robots.txt: it answers 404 Not Found\n",
            "\n  {url}resourcelist.xml: it answers 404 Not Found\n",
            "Give the URL of a ResourceSync document",
        ],
    },
    Case {
        pages: &[HOME, ("robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n")],
        command: "explore {url}",
        code: 4,
        words: &[
            "\n  {url}robots.txt: has no line \"Sitemap: URL\"\n",
            "Give the URL of a ResourceSync document",
        ],
    },
    Case {
        pages: &[("list.xml", "text/html", "<!DOCTYPE html><html><body>Log in</body></html>")],
        command: "sync {url}list.xml {dir}",
        code: 5,
        words: &["{url}list.xml is not usable: a web page", "instep validate"],
    },
    Case {
        pages: &[("feed.xml", "application/rss+xml", "<rss version=\"2.0\"><channel/></rss>")],
        command: "sync {url}feed.xml {dir}",
        code: 5,
        words: &["{url}feed.xml is not usable: XML of another kind", "rss"],
    },
    Case {
        pages: &[("list.xml", "application/xml", "")],
        command: "sync {url}list.xml {dir}",
        code: 5,
        words: &["{url}list.xml is not usable: the answer is empty"],
    },
    Case {
        pages: &[("list.xml", "application/xml", "")],
        command: "explore {url}list.xml",
        code: 5,
        words: &["{url}list.xml is not usable: the answer is empty"],
    },
    Case {
        pages: &[],
        command: "explore {url}nope.xml",
        code: 4,
        words: &["{url}nope.xml", "404", "Give the URL"],
    },
    Case {
        pages: &[],
        command: "sync {url} {dir} --max-delete lots",
        code: 2,
        words: &["lots", "--max-delete", "percentage"],
    },
    Case {
        pages: &[],
        command: "sync {url} {dir} --poll soon --follow",
        code: 2,
        words: &["soon", "--poll", "5m"],
    },
    Case {
        pages: &[],
        command: "sync {url} {dir} --via pigeon",
        code: 2,
        words: &["pigeon", "--via", "list"],
    },
    Case {
        pages: &[],
        command: "sync {url} {dir} --as-of then",
        code: 2,
        words: &["then", "--as-of", "2026-01-31"],
    },
    Case {
        pages: &[],
        command: "sync {url} {dir} --map here",
        code: 2,
        words: &["here", "--map", "URI=PATH"],
    },
    Case {
        pages: &[],
        command: "sync {url} {dir} --where-metadata ==",
        code: 2,
        words: &["\"==\" is not a test of metadata", "write a path"],
    },
    Case { pages: &[], command: "explore ftp://h/", code: 2, words: &["ftp://h/", "http"] },
];

#[test]
fn p15_each_error_of_a_copy_says_what_was_asked_for_what_answered_and_what_to_do() {
    let mut wrong = Vec::new();
    for case in CASES {
        let (site, folder) = (site(case.pages), tempfile::tempdir().unwrap());
        let dir = folder.path().join("copy").display().to_string();
        let url = site.url("");
        let filled = |text: &str| text.replace("{url}", &url).replace("{dir}", &dir);
        let arguments: Vec<String> = case.command.split(' ').map(filled).collect();
        let run = Run::of(instep(&arguments).args(retries(case.command)));
        let missing: Vec<_> =
            case.words.iter().map(|word| filled(word)).filter(|word| !run.stderr.contains(word)).collect();
        if !missing.is_empty() || run.code != Some(case.code) {
            wrong.push(format!(
                "{} ends with {:?} without {missing:?}:\n{}",
                case.command, run.code, run.stderr
            ));
        }
        if folder.path().join("copy").exists() {
            wrong.push(format!("{} leaves a folder", case.command));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn o809_content_that_is_no_document_is_described_as_it_is() {
    let atom = ("feed.xml", "application/xml", "<feed xmlns=\"http://www.w3.org/2005/Atom\"/>");
    let json = ("list.xml", "application/xml", "{}");
    let (site, folder) = (site(&[atom, json]), tempfile::tempdir().unwrap());
    let said = |path: &str| {
        let mut command = instep(["sync", "--retries", "0"]);
        Run::of(command.arg(site.url(path)).arg(folder.path().join("copy"))).with_code(5).stderr
    };
    let feed = said("feed.xml");
    assert!(feed.contains("XML of another kind: The Atom serialization"), "{feed}");
    let list = said("list.xml");
    assert!(list.contains("no XML, although its media type is application/xml"), "{list}");
}

#[test]
fn o870_the_error_that_ends_a_command_does_not_drive_the_terminal() {
    let document = "<x xmlns=\"a&#27;]0;title&#7;&#x9b;31m\u{202e}&#10;instep: In step\"/>";
    let (site, folder) = (site(&[("list.xml", "application/xml", document)]), tempfile::tempdir().unwrap());
    let url = site.url("list.xml");
    for command in ["sync", "explore"] {
        let run = Run::of(instep([command, &url]).args(retries(command)).current_dir(folder.path()));
        let run = run.with_code(5);
        assert!(run.stderr.contains("the root is x in a\\u{1b}]0;title\\u{7}\\u{9b}31m"), "{:?}", run.stderr);
        assert!(!run.stderr.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{:?}", run.stderr);
        assert!(!run.stderr.contains("\ninstep: In step"), "{:?}", run.stderr);
    }
}

fn retries(command: &str) -> &'static [&'static str] {
    if command.starts_with("sync") { &["--retries", "0"] } else { &[] }
}

fn tls(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../instep-net/tests/data/tls").join(name)
}

#[test]
fn p15_an_expired_certificate_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let port = free_port().unwrap();
    let mut serve = instep(["serve"]);
    serve.arg(folder.path().join("data")).arg("--listen").arg(format!("127.0.0.1:{port}"));
    serve.arg("--tls-cert").arg(tls("expired.pem")).arg("--tls-key").arg(tls("server.key"));
    let _server = Server::start(&mut serve, port).unwrap();
    let url = format!("https://127.0.0.1:{port}/");
    for verb in ["sync", "explore"] {
        let mut command = instep([verb, url.as_str()]);
        let run =
            Run::of(command.arg("--ca-file").arg(tls("ca.pem")).current_dir(folder.path())).with_code(4);
        assert!(
            run.stderr.contains(&url) && run.stderr.contains("certificate has expired"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn b25_status_tells_of_each_source_of_a_copy_or_of_the_one_that_is_named() {
    let (one, two) = (
        FakeSource::start().with_resources([("a.txt", "one")]),
        FakeSource::start().with_resources([("b.txt", "two"), ("c.txt", "three")]),
    );
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let _ = Run::of(instep(["sync"]).arg(one.url("")).arg(&copy)).with_code(0);
    two.fail_always("c.txt", Fault::Status(404));
    let _ =
        Run::of(instep(["sync", "--add-source", "--retries", "0"]).arg(two.url("")).arg(&copy)).with_code(3);
    let status = |more: &[&str]| Run::of(instep(["status"]).arg(&copy).args(more));

    let both = status(&[]).with_code(3).stdout;
    for line in [
        format!("Copy        {}", copy.display()),
        "Held        2 resources".to_owned(),
        format!("Source      {}", one.url("")),
        format!("Source      {}", two.url("")),
        "Pending     1 resource (1 ".to_owned(),
    ] {
        assert!(both.contains(&line), "{line:?} is missing in\n{both}");
    }
    let first = status(&["--source", &one.url("")]).with_code(0).stdout;
    assert!(first.contains(&one.url("")) && !first.contains(&two.url("")), "{first}");
    assert!(!first.contains("Pending"), "{first}");
    let second = status(&["--source", &two.url("")]).with_code(3).stdout;
    assert!(!second.contains(&one.url("")) && second.contains("retried by the next run"), "{second}");
    let json = status(&["--source", &two.url(""), "--json"]).with_code(3).stdout;
    let json: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!((&json["type"], &json["owed"]), (&"status".into(), &1.into()), "{json}");
    let none = status(&["--source", "http://nobody.example/"]).with_code(2).stderr;
    for word in ["http://nobody.example/ is not a Source of", &one.url(""), &two.url("")] {
        assert!(none.contains(word), "{word} is missing in {none}");
    }
}

#[test]
fn c38_a_source_that_has_nothing_to_copy_is_at_fault_and_not_the_command_line() {
    let document = |capability: &str, entries: &str| {
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md capability=\"{capability}\"/>{entries}</urlset>"
        )
    };
    let archive =
        "<url><loc>http://example.org/x.xml</loc><rs:md capability=\"resourcelist-archive\"/></url>";
    for (text, what) in [
        (document("capabilitylist", ""), "it offers neither an inventory nor changes"),
        (document("capabilitylist", archive), "it offers neither an inventory nor changes"),
        (document("description", ""), "it names no set of resources"),
    ] {
        let source = site(&[("source.xml", "application/xml", &text)]);
        let url = source.url("source.xml");
        let copy = tempfile::tempdir().unwrap();
        for more in [&[][..], &["--dry-run"]] {
            let run = Run::of(instep(["sync", &url]).arg(copy.path().join("copy")).args(more)).with_code(5);
            let said = format!("{url} is not usable: {what}: there is nothing to synchronize");
            assert!(run.stderr.contains(&said), "{}", run.stderr);
            assert!(!run.stdout.contains("In step"), "{}", run.stdout);
        }
    }
}
