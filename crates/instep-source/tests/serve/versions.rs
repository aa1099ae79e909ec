//! Prior versions: TimeGate, TimeMap and Mementos (RFC 7089), and the links to them (LN-16 to LN-19).

use std::fs;

use instep_source::{CodingRule, VersionOptions};

use super::{
    raw::{get, request},
    server::{Server, folder},
};

/// The time at which the first version of every file was written.
const FIRST: &str = "Tue, 14 Nov 2023 22:13:20 GMT";

fn server(count: usize) -> Server {
    Server::with(folder(&[("d/a.txt", b"one"), ("b.txt", b"other")]), |options| {
        let mut versions = VersionOptions::default();
        versions.count = count;
        options.publish.versions = Some(versions);
    })
}

fn change(server: &Server, text: &str, seen: &str) {
    fs::write(server.path("d/a.txt"), text).unwrap();
    server.wait_for_change(seen);
}

fn path(server: &Server, uri: &str) -> String {
    uri.strip_prefix(server.base.trim_end_matches('/')).unwrap().to_owned()
}

/// Returns the versions of a TimeMap: URI path and datetime.
fn timemap(server: &Server, of: &str) -> Vec<(String, String)> {
    let answer = get(server.address, &format!("/resourcesync/timemap/{of}"));
    assert_eq!(answer.header("content-type"), Some("application/link-format"));
    let text = answer.text();
    let mementos = text.lines().filter(|line| line.contains("memento\"; datetime="));
    let parsed = mementos.map(|line| {
        let uri = line.split(['<', '>']).nth(1).unwrap();
        (path(server, uri), line.split("datetime=\"").nth(1).unwrap().split('"').next().unwrap().to_owned())
    });
    parsed.collect()
}

#[test]
fn a_timegate_leads_to_the_version_of_a_time() {
    let server = server(10);
    change(&server, "two", "length=\"3\"");
    let gate = |headers: &[&str]| request(server.address, "GET", "/resourcesync/timegate/d/a.txt", headers);
    for (asked, text) in [
        (None, "two"),
        (Some("Wed, 15 Nov 2023 00:00:00 GMT"), "one"),
        (Some("Sun, 15 Nov 2023 00:00:00 GMT"), "one"),
        (Some(FIRST), "one"),
        (Some("Mon, 01 Jan 2001 00:00:00 GMT"), "one"),
        (Some("Fri, 01 Jan 2100 00:00:00 GMT"), "two"),
    ] {
        let header = asked.map(|asked| format!("Accept-Datetime: {asked}"));
        let answer = gate(&header.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((answer.status, answer.header("vary")), (302, Some("accept-datetime")), "{asked:?}");
        let link = answer.header("link").unwrap();
        assert!(link.contains(&format!("<{}d/a.txt>; rel=\"original\"", server.base)), "{link}");
        assert!(link.contains("rel=\"timemap\"") && link.contains("rel=\"first memento\""), "{link}");
        let memento = get(server.address, &path(&server, answer.header("location").unwrap()));
        assert_eq!((memento.status, memento.text().as_str()), (200, text), "{asked:?}");
        assert_eq!(memento.header("content-type"), Some("text/plain"));
        assert_eq!(memento.header("memento-datetime") == Some(FIRST), text == "one");
        assert!(memento.header("link").unwrap().contains("rel=\"timegate\""));
    }
    assert_eq!(gate(&["Accept-Datetime: yesterday"]).status, 400);
    let unknown = get(server.address, "/resourcesync/timegate/absent");
    assert_eq!(unknown.status, 404);
}

#[test]
fn a_timemap_lists_the_versions_that_can_be_had() {
    let server = server(2);
    assert_eq!(timemap(&server, "b.txt").len(), 1);
    assert_eq!(timemap(&server, "d/a.txt")[0].1, FIRST);
    change(&server, "second", "length=\"6\"");
    let two = timemap(&server, "d/a.txt");
    assert_eq!(two.len(), 2);
    change(&server, "the third", "length=\"9\"");
    let kept = timemap(&server, "d/a.txt");
    assert_eq!(kept.len(), 2, "as many as are to be kept");
    assert_eq!(kept[0], two[1]);
    assert_eq!(get(server.address, &two[0].0).status, 404);
    let texts: Vec<_> = kept.iter().map(|(uri, _)| get(server.address, uri).text()).collect();
    assert_eq!(texts, ["second", "the third"]);
}

#[test]
fn a_version_outlives_its_resource() {
    let server = server(10);
    fs::remove_file(server.path("d/a.txt")).unwrap();
    server.wait_for_change("change=\"deleted\"");
    assert_eq!(get(server.address, "/d/a.txt").status, 404);
    let versions = timemap(&server, "d/a.txt");
    assert_eq!(get(server.address, &versions[0].0).text(), "one");
    let head = request(server.address, "HEAD", &versions[0].0, &[]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("3"), 0));
}

#[test]
fn entries_and_answers_lead_to_versions() {
    let server = server(10);
    change(&server, "two", "length=\"3\"");
    let link = get(server.address, "/d/a.txt").header("link").unwrap().to_owned();
    for rel in ["timegate", "timemap"] {
        assert!(
            link.contains(&format!("<{}resourcesync/{rel}/d/a.txt>; rel=\"{rel}\"", server.base)),
            "{link}"
        );
    }
    for document in ["resourcelist.xml", "changelist-000001.xml"] {
        let text = get(server.address, &format!("/resourcesync/{document}")).text();
        let entry = text.split("<url>").find(|entry| entry.contains("d/a.txt</loc>")).unwrap();
        let link = entry.lines().find(|line| line.contains("rel=\"memento\"")).unwrap();
        assert!(link.contains("modified=\""), "{link}");
        let href = link.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(get(server.address, &path(&server, href)).status, 200, "{document}");
        assert!(entry.contains("rel=\"timegate\"") && entry.contains("rel=\"timemap\""), "{entry}");
    }
}

#[test]
fn o909_a_version_of_a_file_that_is_stored_compressed_has_its_coding() {
    let server = Server::with(folder(&[("a.txt.gz", b"coded")]), |options| {
        options.publish.versions = Some(VersionOptions::default());
        options.publish.sets[0].codings = vec![CodingRule::new("*.gz", "gzip")];
    });
    let versions = timemap(&server, "a.txt.gz");
    for place in ["/a.txt.gz", versions[0].0.as_str()] {
        let answer = get(server.address, place);
        let kind = (answer.header("content-encoding"), answer.header("content-type"));
        assert_eq!(kind, (Some("gzip"), Some("text/plain")), "{place}");
    }
}

#[test]
fn o739_a_version_has_the_coding_that_the_rules_of_its_own_set_give() {
    let files = folder(&[("texts/a.txt.gz", b"coded"), ("archives/b.txt.gz", b"packed")]);
    let server = Server::with(files, |options| {
        options.publish.versions = Some(VersionOptions::default());
        let mut archives = options.publish.sets[0].clone();
        archives.name = "archives".to_owned();
        archives.include = vec!["archives/*".to_owned()];
        options.publish.sets[0].name = "texts".to_owned();
        options.publish.sets[0].include = vec!["texts/*".to_owned()];
        options.publish.sets[0].codings = vec![CodingRule::new("*.gz", "gzip")];
        options.publish.sets.push(archives);
    });
    for (name, coding) in [("texts/a.txt.gz", Some("gzip")), ("archives/b.txt.gz", None)] {
        let versions = timemap(&server, name);
        for place in [format!("/{name}"), versions[0].0.clone()] {
            assert_eq!(get(server.address, &place).header("content-encoding"), coding, "{place}");
        }
    }
}
