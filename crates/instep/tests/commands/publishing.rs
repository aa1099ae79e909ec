//! One publication: files that block it, folders without resources, limits of the process, the setup of the host.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::support::{BASE, ServedSource, folder, instep, output_of, publish, run, shell};

#[test]
fn c15_files_at_the_names_of_documents_end_with_6_and_the_option_that_replaces_them() {
    let folder = folder(&[("data/a.txt", "a"), ("data/resourcesync/resourcelist.xml", "theirs")]);
    let publish = ["publish", "data", "--base-url", BASE];
    let refused = run(folder.path(), &publish, 6);
    assert!(
        refused.contains("resourcesync/resourcelist.xml") && refused.contains("--overwrite-documents"),
        "{refused}"
    );
    run(folder.path(), &[&publish[..], &["--overwrite-documents"]].concat(), 0);
}

#[test]
fn a15_the_archives_of_dumps_are_filled_with_options_alone() {
    let folder = folder(&[("data/a.txt", "a")]);
    let publish =
        ["publish", "data", "--base-url", BASE, "--archives", "--dump", "always", "--dump-every", "0s"];
    let publish = [&publish[..], &["--change-dump", "--closed-lists", "2"]].concat();
    for round in 0..5 {
        fs::write(folder.path().join("data/a.txt"), format!("round {round}")).unwrap();
        run(folder.path(), &publish, 0);
    }
    for archive in ["resourcedump-archive.xml", "changedump-archive.xml"] {
        let text = fs::read_to_string(folder.path().join("data/resourcesync").join(archive)).unwrap();
        assert!(text.contains("<loc>"), "{text}");
    }
}

#[test]
fn c18_change_and_publish_wait_for_each_other() {
    let folder = folder(&[("data/a.txt", "a"), ("records.csv", "uri\nhttp://source.example/data/r\n")]);
    let data = folder.path().join("data");
    let publish = ["publish", "data", "--base-url", BASE, "--from", "records.csv"];
    run(folder.path(), &publish, 0);
    let lock = fs::File::options().write(true).open(data.join(".instep/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let change = ["change", "add", "http://source.example/data/r", "--dir", "data"];
    for waiting in [&publish[..], &change[..]] {
        let refused = run(folder.path(), &[waiting, &["--wait", "0s"]].concat(), 7);
        assert!(refused.contains("--wait"), "{refused}");
    }
    let waiting: Vec<_> = [&publish[..], &change[..]]
        .map(|arguments| instep(folder.path(), arguments).stderr(Stdio::piped()).spawn().unwrap())
        .into_iter()
        .map(|mut child| {
            let mut line = String::new();
            BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
            assert!(line.contains("Waiting"), "{line}");
            child
        })
        .collect();
    drop(lock);
    for mut child in waiting {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn o982_of_many_resources_that_are_left_out_the_first_are_shown_and_the_others_counted() {
    let wrong: String = (0..30).map(|number| format!("no URI {number}\n")).collect();
    let folder = folder(&[("records.csv", &format!("uri\nhttp://source.example/data/r\n{wrong}"))]);
    fs::create_dir(folder.path().join("data")).unwrap();
    let publish = ["publish", "data", "--base-url", BASE, "--from", "records.csv"];
    for (more, shown, is_counted) in [(&[][..], 20, true), (&["-v"], 30, false)] {
        let said = run(folder.path(), &[&publish[..], more].concat(), 3);
        assert_eq!(said.matches("no URI ").count(), shown, "{said}");
        assert_eq!(said.contains("and 10 more problems"), is_counted, "{said}");
    }
}

#[test]
fn c18_a_publication_needs_few_descriptors() {
    let folder = folder(&[]);
    for number in 0..200 {
        let name = format!("data/{}/{number}.txt", number % 50);
        fs::create_dir_all(folder.path().join(&name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), "text").unwrap();
    }
    let publish = ["publish", "data", "--base-url", BASE, "--dump", "always", "--gzip", "--change-dump"];
    let text = output_of(shell(folder.path(), "ulimit -n 64 && exec \"$@\"", &publish), 0);
    assert!(text.contains("+200"), "{text}");
}

#[test]
fn p19_a_publication_of_nothing_says_that_there_is_nothing_or_that_nothing_matches() {
    let folder = folder(&[("data/a.txt", "one"), ("empty/.hidden", "")]);
    const SAID: &str = "none matches the filters";
    let publish = ["publish", "data", "--base-url", "http://source.example/", "--include", "*.pdf"];
    for more in [&["--dry-run"][..], &[]] {
        let said = run(folder.path(), &[&publish[..], more].concat(), 0);
        assert!(said.contains(SAID), "{said}");
    }
    let empty = run(folder.path(), &["publish", "empty", "--base-url", "http://source.example/"], 0);
    assert!(empty.contains(SAID), "{empty}");
}

#[test]
fn p13_the_setup_of_the_host_is_mentioned_once_and_printed_on_request() {
    let folder = folder(&[("data/a.txt", "a")]);
    for (server, words) in [
        ("nginx", &["location ~ /\\.instep", "return 301", "add_header Link"][..]),
        ("apache", &["RedirectMatch 404", "RedirectMatch 301", "Header set Link"]),
        ("caddy", &["respond @state 404", "redir /.well-known/resourcesync", "header \"/data/*\" Link"]),
    ] {
        let text = run(folder.path(), &["publish", "data", "--base-url", BASE, "--host-setup", server], 0);
        words.iter().for_each(|word| assert!(text.contains(word), "{server}: {word}\n{text}"));
    }
    assert!(!folder.path().join("data/.instep").exists(), "nothing is published");
    assert!(publish(folder.path()).contains("--host-setup"));
    fs::write(folder.path().join("data/a.txt"), "changed").unwrap();
    assert!(!publish(folder.path()).contains("--host-setup"));
}

#[test]
fn p24_a_served_source_conforms_by_the_url_of_its_site_with_and_without_the_last_slash() {
    let folder = folder(&[("data/index.html", "<p>a page"), ("data/a.txt", "one")]);
    let source = ServedSource::start(folder.path());
    for url in [source.url.as_str(), source.url.trim_end_matches('/')] {
        let said = run(folder.path(), &["validate", url, "--follow"], 0);
        assert!(said.contains("Conforms: "), "{said}");
    }
}

/// Returns a web archive with resources of these names, which have these bytes.
fn archive_of(names: &[&str], text: &str) -> String {
    let length = text.len();
    let block =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{text}");
    let record = |name: &&str| {
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{name}>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n\
             WARC-Target-URI: {BASE}{name}\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    };
    names.iter().map(record).collect()
}

#[test]
fn o184_a_dry_run_unpacks_no_web_archive_into_the_state_and_shows_what_would_be_published() {
    let folder = folder(&[("data/.hidden", ""), ("seen.warc", &archive_of(&["a", "b", "c"], "text"))]);
    let publish = ["publish", "data", "--base-url", BASE, "--from", "seen.warc"];
    let dry = || run(folder.path(), &[&publish[..], &["--dry-run"]].concat(), 0);
    let shown = dry();
    assert!(shown.contains("+3 ~0 -0"), "{shown}");
    assert!(!folder.path().join("data/.instep").exists(), "nothing is written");
    run(folder.path(), &publish, 0);
    // The manifest is compared with that of the state, although it has few of those resources.
    fs::write(folder.path().join("seen.warc"), archive_of(&["c", "d"], "text")).unwrap();
    let shown = dry();
    assert!(shown.contains("+1 ~0 -2"), "{shown}");
}

#[test]
fn o184_a_web_archive_is_not_unpacked_beside_a_server_that_publishes_it() {
    let folder = folder(&[("data/.hidden", ""), ("seen.warc", &archive_of(&["a"], "first"))]);
    let publish = ["publish", "data", "--base-url", BASE, "--from", "seen.warc"];
    let _server = ServedSource::with_options(folder.path(), &publish[2..]);
    let unpacked = folder.path().join("data/.instep/web-archive");
    let manifest = || fs::read_to_string(unpacked.join("resources.jsonl")).unwrap();
    let served = manifest();
    fs::write(folder.path().join("seen.warc"), archive_of(&["a"], "another")).unwrap();
    let refused = run(folder.path(), &publish, 7);
    assert!(refused.contains("A running server publishes with the state"), "{refused}");
    assert_eq!(manifest(), served);
}

#[test]
fn o481_a_second_server_is_refused_before_it_unpacks_a_web_archive_over_that_of_the_first() {
    let folder = folder(&[("data/.hidden", ""), ("seen.warc", &archive_of(&["a"], "first"))]);
    let options = ["--base-url", BASE, "--from", "seen.warc"];
    let _server = ServedSource::with_options(folder.path(), &options);
    let manifest =
        || fs::read_to_string(folder.path().join("data/.instep/web-archive/resources.jsonl")).unwrap();
    let served = manifest();
    fs::write(folder.path().join("seen.warc"), archive_of(&["a"], "another")).unwrap();
    run(folder.path(), &[&["serve", "data", "--listen", "127.0.0.1:0"][..], &options].concat(), 7);
    assert_eq!(manifest(), served);
}

#[test]
fn o736_a_patch_that_a_document_of_a_web_archive_names_is_no_resource() {
    let list = format!(
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="changelist" from="2026-01-01T00:00:00Z"/>
<url><loc>{BASE}a</loc><rs:md change="updated" datetime="2026-01-02T00:00:00Z"/>
<rs:ln rel="http://www.openarchives.org/rs/terms/patch" href="{BASE}patches/1" type="application/vcdiff"/></url>
</urlset>"#
    );
    // Files of an archive are read in the order of their names: a patch may come before the document that names it.
    let archive = [archive_of(&["a", "patches/1", "patches/2"], "text"), archive_of(&["changes"], &list)];
    let folder = folder(&[("data/.hidden", ""), ("seen.warc", &archive.concat())]);
    let said = run(folder.path(), &["publish", "data", "--base-url", BASE, "--from", "seen.warc"], 0);
    assert!(said.contains("+2 ~0 -0"), "{said}");
    let listed = fs::read_to_string(folder.path().join("data/resourcesync/resourcelist.xml")).unwrap();
    assert!(listed.contains("patches/2") && !listed.contains("patches/1"), "{listed}");
}

#[test]
fn o199_a_publication_beside_a_server_says_what_the_server_does_by_itself() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    let publish = ["publish", "data", "--base-url", &source.url, "--wait", "0s"];
    let refused = run(folder.path(), &publish, 7);
    assert!(refused.contains("A server (instep serve) publishes changed files by itself"), "{refused}");
    assert!(refused.contains("instep change"), "{refused}");
}

#[test]
fn o575_a_resource_at_the_uri_of_a_document_is_left_out_and_named() {
    let base = "http://source.example/";
    let of_documents = ["robots.txt", ".well-known/resourcesync", "resourcesync/capabilitylist.xml"];
    let archive = archive_of(&[&["a", "data/robots.txt"][..], &of_documents].concat(), "text");
    let folder = folder(&[("data/.hidden", ""), ("seen.warc", &archive.replace(BASE, base))]);
    let said = run(folder.path(), &["publish", "data", "--base-url", base, "--from", "seen.warc"], 0);
    assert!(said.contains("+2 ~0 -0"), "{said}");
    assert_eq!(said.matches("a document of this Source has this URI").count(), 3, "{said}");
    for name in of_documents {
        assert!(said.contains(&format!("{base}{name}")), "{name}: {said}");
    }
    let list = fs::read_to_string(folder.path().join("data/resourcesync/resourcelist.xml")).unwrap();
    assert!(list.contains("/data/robots.txt<") && !list.contains("example/robots.txt<"), "{list}");
}
