//! Pages for people: everything from outside is text there.

use super::{
    raw::{Answer, get},
    server::Server,
};

fn page(server: &Server, target: &str) -> Answer {
    let answer = get(server.address, target);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/html; charset=utf-8")),
        "{target}"
    );
    assert!(
        answer
            .header("content-security-policy")
            .is_some_and(|policy| policy.starts_with("default-src 'none'"))
    );
    answer
}

#[test]
fn a_search_finds_resources_by_the_beginning_of_their_path_or_uri() {
    let server = Server::start(&[("a/1.txt", b"1"), ("a/2.txt", b"22"), ("b.txt", b"3"), ("<i>.txt", b"4")]);
    let found = page(&server, "/resourcesync/search?q=a/").text();
    assert!(found.contains("a/1.txt") && found.contains("a/2.txt") && !found.contains("b.txt"), "{found}");
    let exact = page(&server, &format!("/resourcesync/search?q={}b.txt", server.base)).text();
    assert!(exact.contains("b.txt") && !exact.contains("a/1.txt"), "{exact}");
    let all = page(&server, "/resourcesync/search?q=").text();
    assert!(all.contains("b.txt") && all.contains("%3Ci%3E.txt"), "{all}");
    let hostile = page(&server, "/resourcesync/search?q=%3Cscript%3Ealert(1)%3C/script%3E").text();
    assert!(!hostile.contains("<script>") && hostile.contains("None."), "{hostile}");
}

#[test]
fn a_resource_has_a_page_with_what_is_published_of_it() {
    let server = Server::start(&[("a.txt", b"abc")]);
    let text = page(&server, &format!("/resourcesync/resource?uri={}a.txt", server.base)).text();
    assert!(text.contains("3 bytes") && text.contains("text/plain") && text.contains("sha-256"), "{text}");
    assert_eq!(get(server.address, "/resourcesync/resource?uri=http://x/").status, 404);
    assert_eq!(get(server.address, "/resourcesync/resource").status, 404);
}

#[test]
fn a_document_has_a_page_and_nothing_else_of_the_disk_has() {
    let server = Server::start(&[("a.txt", b"abc")]);
    let text = page(&server, "/resourcesync/document?name=resourcesync/resourcelist.xml").text();
    assert!(text.contains("resourcelist") && text.contains("a.txt"), "{text}");
    for name in
        ["../catalogue.db", "resourcesync/absent.xml", "/etc/passwd", "..%2f..%2fa.xml", "robots.txt", ""]
    {
        assert_eq!(get(server.address, &format!("/resourcesync/document?name={name}")).status, 404, "{name}");
    }
}

#[test]
fn charts_show_changes_and_sizes_without_a_script() {
    let server = Server::start(&[("a.txt", b"abc")]);
    let text = page(&server, "/resourcesync/charts").text();
    for part in ["Changes an hour", "Changes a day", "up to 4 B: 1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("<rect").count(), 48 + 30 + 1);
}

#[test]
fn a_set_has_a_page_with_its_documents() {
    let server = Server::start(&[("a.txt", b"abc")]);
    let text = page(&server, "/resourcesync/set?name=").text();
    for part in [
        "resourcesync/changelist.xml",
        "instep sync",
        "capabilitylist.xml",
        "data-figure=\"set-resources\">1<",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(get(server.address, "/resourcesync/set?name=absent").status, 404);
}

#[test]
fn the_page_of_a_document_stands_beside_it_as_html() {
    let server = Server::start(&[("a.txt", b"abc")]);
    let answer = get(server.address, "/resourcesync/resourcelist.html");
    assert_eq!(answer.status, 301);
    let page_of_it = answer.header("location").unwrap().to_owned();
    assert!(page(&server, &page_of_it).text().contains("a.txt"));
}

#[test]
fn a_page_that_is_open_hears_of_changes_by_a_script_of_this_host() {
    let server = Server::start(&[("a.txt", b"abc")]);
    assert!(page(&server, "/").text().contains("src=\"/resourcesync/live.js\""));
    let script = get(server.address, "/resourcesync/live.js");
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
}
