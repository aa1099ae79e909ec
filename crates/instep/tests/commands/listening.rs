//! Addresses of servers that are wrong or in use, and wrong options of servers.

use std::{
    fs,
    net::{TcpListener, TcpStream},
};

use instep_testkit::wait_until;

use crate::support::{BASE, Running, ServedSource, folder, get, instep, run, shell};

#[test]
fn p12_an_address_that_cannot_be_used_ends_each_server_with_2() {
    let folder = folder(&[("data/a.txt", "a")]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for address in [taken.as_str(), "8077"] {
        run(folder.path(), &["serve", "data", "--listen", address], 2);
        run(folder.path(), &["simulate", "--resources", "1", "--listen", address], 2);
    }
}

#[test]
fn o1040_an_address_for_hubs_that_cannot_be_used_ends_a_fleet_before_it_is_ready() {
    let folder = folder(&[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hooks/", taken.local_addr().unwrap());
    for (url, part) in [(url.as_str(), "for callbacks"), ("nonsense", "is not an http(s) URL")] {
        let said = run(folder.path(), &["run", "--callback-url", url, "--json"], 2);
        assert!(said.contains(part) && !said.contains("\"ready\""), "{said}");
    }
    assert!(!folder.path().join("fleet").exists());
}

#[test]
fn o1048_an_address_for_applications_in_use_has_its_own_advice() {
    let folder = folder(&[("data/a.txt", "one")]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", "http://127.0.0.1/"];
    for address in [address.as_str(), "unix:none/socket"] {
        let serve = [&serve[..], &["--admin-listen", address]].concat();
        let wrong = run(folder.path(), &serve, 2);
        assert!(wrong.contains(&format!("Cannot listen on {address} for applications: ")), "{wrong}");
        assert!(wrong.contains("Choose another address with --admin-listen"), "{wrong}");
    }
}

#[test]
fn o756_the_commands_on_pages_can_be_pasted_whatever_the_base_url_contains() {
    let folder = folder(&[("data/a.txt", "a")]);
    let base = "http://127.0.0.1/it's&so/";
    let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", base];
    let mut server = Running::start(instep(folder.path(), &serve));
    let address = server.ready()["address"].as_str().unwrap().to_owned();
    for path in ["", "connected", "set?name="] {
        let page = get(&address, &format!("/it's&so/resourcesync/{path}"));
        assert!(page.contains(r"instep sync 'http://127.0.0.1/it'\''s&amp;so/"), "{page}");
    }
}

#[test]
fn o761_the_command_that_demo_prints_serves_its_folder_again() {
    let folder = folder(&[]);
    let said = run(folder.path(), &["demo", "work", "--files", "3"], 0);
    let (_, command) = said.split_once("again with: instep ").unwrap();
    let arguments: Vec<_> = command.lines().next().unwrap().split(' ').collect();
    Running::start(instep(folder.path(), &arguments)).ready();
}

#[test]
fn p12_an_address_in_use_has_the_same_advice_for_each_server() {
    let folder = folder(&[("data/a.txt", "one")]);
    let source = ServedSource::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for command in [
        &["serve", "data", "--state", "state", "--base-url", "http://source.example/"][..],
        &["sync", &source.url, "copy", "--follow"],
        &["status", "copy"],
        &["run"],
    ] {
        let wrong = run(folder.path(), &[command, &["--listen", &address]].concat(), 2);
        assert!(wrong.contains(&format!("Cannot listen on {address}: ")), "{command:?}: {wrong}");
        assert!(wrong.contains("Choose another address with --listen"), "{command:?}: {wrong}");
    }
}

#[test]
fn o427_idle_connections_leave_descriptors_for_requests_and_publications() {
    let folder = folder(&[("data/a.txt", "one")]);
    let serve = ["serve", "data", "--listen", "127.0.0.1:0"];
    let mut server = Running::start(shell(folder.path(), "ulimit -n 128; exec \"$@\"", &serve));
    let ready = server.ready();
    let address = ready["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
    let idle: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert!(get(address, "/a.txt").starts_with("HTTP/1.1 200"), "a request is answered");
    fs::write(folder.path().join("data/b.txt"), "two").unwrap();
    wait_until("a change is published", || {
        get(address, "/resourcesync/changelist-000001.xml").contains("/b.txt")
    });
    drop(idle);
}

#[test]
fn c18_wrong_options_of_servers_end_with_2_and_advice() {
    let folder = folder(&[("data/a.txt", "a"), ("empty", " \n")]);
    for (options, words) in [
        (&["--scan-every", "0s"][..], "scan"),
        (&["--admin-token-file", "empty"], "empty"),
        (&["--listen", "127.0.0.1"], "127.0.0.1:8080"),
    ] {
        let mut arguments = vec!["serve", "data", "--base-url", BASE];
        arguments.extend(options);
        if !options.contains(&"--listen") {
            arguments.extend(["--listen", "127.0.0.1:0"]);
        }
        let text = run(folder.path(), &arguments, 2);
        assert!(text.contains(words), "{text}");
    }
}
