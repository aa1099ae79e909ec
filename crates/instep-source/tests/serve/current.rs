//! Changes are published, and shown on pages, in `/status` and in `/metrics`.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use instep_source::{
    Content, Error, PublishMonitor,
    serve::{ServeOptions, serve},
};
use instep_testkit::LONG;

use super::{
    raw::{get, request},
    server::{Server, folder},
};

#[test]
fn the_documents_are_there_before_anybody_can_ask() {
    let server = Server::start(&[("a.txt", b"a"), ("b/c.txt", b"c")]);
    let description = get(server.address, "/.well-known/resourcesync");
    assert_eq!((description.status, description.header("content-type")), (200, Some("application/xml")));
    assert!(description.text().contains(&format!("{}resourcesync/capabilitylist.xml", server.base)));
    let list = get(server.address, "/resourcesync/capabilitylist.xml");
    assert!(list.text().contains("capability=\"changelist\""), "{}", list.text());
    let link = format!("<{}resourcesync/capabilitylist.xml>; rel=\"resourcesync\"", server.base);
    assert_eq!(get(server.address, "/b/c.txt").header("link"), Some(link.as_str()));
}

#[test]
fn a_file_that_is_written_appears_in_the_change_list() {
    let server = Server::start(&[("a.txt", b"a")]);
    fs::create_dir_all(server.path("new/deep")).unwrap();
    fs::write(server.path("new/deep/b.txt"), "b").unwrap();
    server.wait_for_change("new/deep/b.txt");
    fs::write(server.path("a.txt"), "changed").unwrap();
    server.wait_for_change("change=\"updated\"");
    fs::rename(server.path("new"), server.path("old")).unwrap();
    server.wait_for_change("old/deep/b.txt");
    server.wait_for_change("change=\"deleted\"");
    assert_eq!(get(server.address, "/old/deep/b.txt").body, b"b");
    assert_eq!(get(server.address, "/new/deep/b.txt").status, 404);
    assert_eq!(get(server.address, "/a.txt").body, b"changed");
}

#[test]
fn without_watches_scans_find_what_changed() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.live.watch = false;
        options.live.scan_every = Duration::from_millis(50);
    });
    fs::write(server.path("b.txt"), "b").unwrap();
    server.wait_for_change("b.txt");
}

#[test]
fn it_ends_within_two_seconds_when_nothing_is_in_flight() {
    let mut server = Server::start(&[("a.txt", b"a")]);
    let kept_alive = super::raw::connect(server.address);
    assert_eq!(get(server.address, "/a.txt").status, 200);
    assert!(server.end() < Duration::from_secs(2));
    drop(kept_alive);
}

#[test]
fn a_second_source_over_the_same_folder_is_refused() {
    let server = Server::start(&[("a.txt", b"a")]);
    let options = instep_source::PublishOptions::new(server.folder.path(), &server.base);
    let refused = instep_source::publish(&options, &instep_source::NoMonitor).unwrap_err();
    assert_eq!(refused.kind(), instep_source::ErrorKind::Locked);
}

#[test]
fn monitoring_is_told_how_things_stand() {
    let server = Server::start(&[("a.txt", b"abc")]);
    assert_eq!(get(server.address, "/healthz").status, 200);
    assert_eq!(get(server.address, "/readyz").status, 200);
    let status = get(server.address, "/status").text();
    assert!(status.contains("\"resources\":1") && status.contains("\"failure\":null"), "{status}");
    let metrics = get(server.address, "/metrics").text();
    assert!(metrics.contains("instep_resources 1"), "{metrics}");
    assert!(metrics.contains("instep_http_requests_total{class=\"2xx\"}"), "{metrics}");
}

#[test]
fn a_resource_comes_before_a_page_of_the_same_name() {
    let server = Server::start(&[("status", b"mine"), ("metrics", b"mine"), ("index.html", b"mine")]);
    for target in ["/status", "/metrics", "/"] {
        assert_eq!(get(server.address, target).body, b"mine", "{target}");
    }
}

#[test]
fn any_page_may_read_the_documents_if_it_is_let() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| options.cors = Some(true));
    let answer =
        request(server.address, "OPTIONS", "/resourcesync/capabilitylist.xml", &["Origin: http://x.example"]);
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-methods"), Some("GET, HEAD"));
}

#[test]
fn what_a_manifest_names_is_served_under_its_uri_as_it_is_written() {
    let folder = folder(&[("kept/elsewhere.txt", b"bytes")]);
    let manifest = folder.path().join("manifest.jsonl");
    let line = r#"{"uri":"http://data.example/doc?id=1&part=%C3%A4","path":"kept/elsewhere.txt","type":"text/plain"}"#;
    fs::write(&manifest, line).unwrap();
    let root = folder.path().to_owned();
    let server = Server::with(folder, move |options| {
        options.publish.base_url = "http://data.example/".to_owned();
        options.publish.sets[0].content = vec![Content::Manifest { path: manifest, root }];
    });
    let answer = get(server.address, "/doc?id=1&part=%C3%A4");
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"bytes"[..]));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    assert!(answer.header("link").is_some_and(|link| link.contains("capabilitylist.xml")));
    for absent in ["/doc", "/doc?id=2", "/kept/elsewhere.txt"] {
        assert_eq!(get(server.address, absent).status, 404, "{absent}");
    }
}

#[test]
fn a_resource_dump_is_built_beside_and_offered_when_it_is_there() {
    let server = Server::start(&[("a.txt", b"aaa"), ("b.txt", b"bbb")]);
    server.wait_for_document("resourcedump.xml");
    server.wait_for_document("capabilitylist.xml");
    let list = get(server.address, "/resourcesync/capabilitylist.xml").text();
    assert!(list.contains("capability=\"resourcedump\""), "{list}");
    let dump = get(server.address, "/resourcesync/resourcedump.xml").text();
    let package = dump.split("<loc>").nth(1).unwrap().split("</loc>").next().unwrap();
    let answer = get(server.address, package.strip_prefix(server.base.trim_end_matches('/')).unwrap());
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/zip")));
    assert!(answer.header("cache-control").is_some_and(|value| value.contains("immutable")));
    assert!(answer.body.starts_with(b"PK"));
}

/// A monitor with a fault: it panics in the thread that publishes, at the second publication.
struct FaultyMonitor {
    file: PathBuf,
    published: AtomicU32,
}

impl PublishMonitor for FaultyMonitor {
    fn published(&self, _resources: u64, _bytes: u64) {
        assert!(self.published.fetch_add(1, Ordering::Relaxed) == 0, "the fault of this test");
    }

    fn serving(&self, _base_url: &str, _address: SocketAddr) {
        fs::write(&self.file, "b").unwrap();
    }
}

#[test]
fn a_server_whose_publishing_thread_has_ended_by_a_fault_ends_too() {
    let folder = folder(&[("a.txt", b"a")]);
    let mut options = ServeOptions::new(folder.path());
    options.listen = "127.0.0.1:0".to_owned();
    let monitor = FaultyMonitor { file: folder.path().join("b.txt"), published: AtomicU32::new(0) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let served = runtime.block_on(async {
        let serving = serve(options, Arc::new(monitor), std::future::pending());
        tokio::time::timeout(LONG, serving).await.expect("it serves for ever what nobody publishes")
    });
    assert!(matches!(served, Err(Error::PublisherFailed)), "{served:?}");
}
