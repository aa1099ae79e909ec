//! A relay whose upstream is unreachable, or describes the same bytes in a new way.

use std::{fs, path::Path, process::Command};

use instep_testkit::{FakeSource, Run, Server, free_port, instep};

/// Follows the upstream and serves the copy on a port. Another port would be another base URL.
fn relay(url: &str, copy: &Path, port: u16) -> Server {
    let listen = format!("127.0.0.1:{port}");
    let mut command =
        instep(["sync", url, "--follow", "--republish", "--interval", "50ms", "--listen", &listen]);
    Server::start(command.arg(copy), port).unwrap()
}

fn get(url: &str) -> String {
    Run::of(Command::new("curl").args(["-sf", url])).stdout
}

/// Requests a document of a server until it contains this text.
fn until(url: &str, what: &str) -> String {
    for _ in 0..5_000 {
        let text = get(url);
        if text.contains(what) {
            return text;
        }
    }
    panic!("{what} never came: {}", get(url));
}

#[test]
fn a_relay_serves_what_it_holds_while_its_upstream_is_away() {
    let place = tempfile::tempdir().unwrap();
    let (files, copy) = (place.path().join("files"), place.path().join("copy"));
    fs::create_dir(&files).unwrap();
    fs::write(files.join("a.txt"), "a").unwrap();
    let port = free_port().unwrap();
    let serve = || {
        let mut command = instep(["serve", "--interval", "50ms", "--listen", &format!("127.0.0.1:{port}")]);
        Server::start(command.arg(&files), port).unwrap()
    };
    let upstream = serve();
    let url = upstream.url();
    let relays = free_port().unwrap();
    drop(relay(&url, &copy, relays));
    drop(upstream);

    let relay = relay(&url, &copy, relays);
    assert_eq!(get(&format!("{}a.txt", relay.url())), "a");
    let list = get(&format!("{}resourcesync/resourcelist.xml", relay.url()));
    assert!(list.contains(&format!("rel=\"via\" href=\"{url}a.txt\"")), "{list}");
    let _back = serve();
    fs::write(files.join("a.txt"), "changed").unwrap();
    until(&format!("{}a.txt", relay.url()), "changed");
}

#[test]
fn who_holds_nothing_of_a_source_that_is_away_is_told_so_at_once() {
    let place = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}/", free_port().unwrap());
    let mut command = instep(["sync", &url, "--follow"]);
    let run = Run::of(command.arg(place.path().join("copy"))).with_code(4);
    assert!(run.stderr.contains(&url), "{}", run.stderr);
}

#[test]
fn links_that_are_new_over_the_same_bytes_reach_the_change_list_of_a_relay() {
    let source = FakeSource::start().with_resources([("a.txt", "a"), ("b.txt", "b")]);
    let place = tempfile::tempdir().unwrap();
    let relay = relay(&source.url(""), &place.path().join("copy"), free_port().unwrap());
    let list = format!("{}resourcesync/changelist-000001.xml", relay.url());
    until(&list, "</urlset>");
    source.rewrite("changelist-000001.xml", |text| {
        text.replace("</url>", "<rs:ln rel=\"describedby\" href=\"http://example.org/about\"/></url>")
    });
    source.put("a.txt", "a");
    let told = until(&list, "http://example.org/about");
    assert!(
        told.contains(&format!("<loc>{}a.txt</loc>", relay.url())) && told.contains("change=\"updated\""),
        "{told}"
    );
    assert!(!told.contains("b.txt"), "{told}");
    assert_eq!(source.requests_for("a.txt"), 1, "its bytes are held");
}

#[test]
fn o266_a_relay_serves_every_resource_that_it_lists_whatever_its_name() {
    let names = [".hidden", "d/.b", "a", "a/b", "e%2Ff", "g~", "x?q=1"];
    let source = FakeSource::start().with_resources(names.map(|name| (name, name)));
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let port = free_port().unwrap();
    let mut command = instep(["sync", &source.url(""), "--follow", "--republish", "--listen"]);
    let relay = Server::start(command.arg(format!("127.0.0.1:{port}")).arg(&copy), port).unwrap();
    let list = get(&format!("{}resourcesync/resourcelist.xml", relay.url()));
    let listed: Vec<_> =
        list.split("<loc>").skip(1).filter_map(|rest| Some(rest.split_once("</loc>")?.0)).collect();
    assert_eq!(listed.len(), names.len(), "{list}");
    let mut bodies: Vec<_> = listed.into_iter().map(get).collect();
    bodies.sort();
    let mut wanted = names.to_vec();
    wanted.sort_unstable();
    assert_eq!(bodies, wanted);
    for own in [".instep/state.sqlite", ".instep/lock", "..%2f.instep/state.sqlite"] {
        let answer = Run::of(
            Command::new("curl")
                .args(["-s", "--path-as-is", "-o", "/dev/null", "-w", "%{http_code}"])
                .arg(format!("{}{own}", relay.url())),
        );
        assert_eq!(answer.stdout, "404", "{own}");
    }
}

#[test]
fn o283_a_relay_publishes_all_deletions_that_its_copy_made() {
    let names: Vec<_> = (0..30).map(|number| format!("{number:02}.txt")).collect();
    let source = FakeSource::start().with_resources(names.iter().map(|name| (name.as_str(), name.as_str())));
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let port = free_port().unwrap();
    let listen = format!("127.0.0.1:{port}");
    let mut command =
        instep(["sync", &source.url(""), "--follow", "--poll", "50ms", "--delete", "--max-delete", "100%"]);
    command.args(["--republish", "--interval", "50ms", "--listen", &listen]).arg(&copy);
    let relay = Server::start(&mut command, port).unwrap();
    names.iter().skip(1).for_each(|name| source.delete(name));
    let list = until(&format!("{}resourcesync/changelist-000001.xml", relay.url()), "29.txt");
    assert_eq!(list.matches("change=\"deleted\"").count(), 29, "{list}");
}
