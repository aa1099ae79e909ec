//! Pages that a program adds: they come last, and a client that requests documents never gets them.

use std::{fs, io::Read as _, sync::Arc, time::Duration};

use http::{Response, StatusCode};
use instep_source::serve::{PageRequest, Pages, SourceView};
use instep_testkit::wait_until;

use super::{
    raw::{get, request},
    server::{Server, folder},
};

/// Answers a person with what was asked, and everybody at `/page`.
#[derive(Debug)]
struct Echo;

impl Pages for Echo {
    fn answer(&self, source: &SourceView, asked: &PageRequest) -> Option<Response<Vec<u8>>> {
        let PageRequest { path, query, status, .. } = asked;
        let resources = source.overview().resources();
        let page = format!("{path} {query} {} {resources}", status.as_u16());
        (asked.accepts_html || path == "page").then(|| Response::new(page.into_bytes()))
    }
}

fn server(files: &[(&str, &[u8])]) -> Server {
    Server::with(folder(files), |options| options.pages = Some(Arc::new(Echo)))
}

const PERSON: &str = "Accept: text/html,*/*;q=0.8";

#[test]
fn a_person_gets_a_page_where_there_is_no_answer_and_a_program_the_answer() {
    let server = server(&[("a.txt", b"abc")]);
    let person = |target| request(server.address, "GET", target, &[PERSON]);
    assert_eq!(person("/absent?q=1").text(), "absent q=1 404 1");
    assert_eq!(person("/resourcesync/batch").text(), "resourcesync/batch  405 1");
    assert_eq!(person("/status").text(), "status  404 1");
    assert_eq!(person("/a.txt").text(), "abc");
    assert_eq!(get(server.address, "/page").text(), "page  404 1");
    for (target, status) in [("/absent", 404), ("/resourcesync/batch", 405), ("/status", 200)] {
        let answer = get(server.address, target);
        assert_eq!((answer.status, answer.text().contains("404 1")), (status, false), "{target}");
    }
}

#[test]
fn an_answer_to_head_says_how_long_the_page_is_and_has_none() {
    let server = server(&[("a.txt", b"abc")]);
    let answer = request(server.address, "HEAD", "/page", &[]);
    assert_eq!((answer.status, answer.header("content-length")), (StatusCode::OK.as_u16(), Some("11")));
    assert!(answer.body.is_empty());
}

#[test]
fn a_resource_comes_before_a_page_of_the_same_name() {
    let server = server(&[("page", b"mine"), ("index.html", b"mine")]);
    for target in ["/page", "/"] {
        assert_eq!(request(server.address, "GET", target, &[PERSON]).body, b"mine", "{target}");
    }
}

/// Shows the Resource List to everybody.
#[derive(Debug)]
struct ShownList;

impl Pages for ShownList {
    fn answer(&self, source: &SourceView, _: &PageRequest) -> Option<Response<Vec<u8>>> {
        let mut text = Vec::new();
        source.document("resourcesync/resourcelist.xml").ok()??.read_to_end(&mut text).ok()?;
        Some(Response::new(text))
    }
}

#[test]
fn o546_pages_show_documents_that_were_taken_away_and_are_back() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.pages = Some(Arc::new(ShownList));
        options.live.watch = false;
        options.live.scan_every = Duration::from_millis(50);
    });
    let is_shown = || get(server.address, "/page").status == StatusCode::OK.as_u16();
    assert!(is_shown());
    fs::rename(server.path(".instep/documents"), server.path(".instep/elsewhere")).unwrap();
    fs::remove_dir_all(server.path(".instep/elsewhere")).unwrap();
    wait_until("the list is shown again", is_shown);
}
