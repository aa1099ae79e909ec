//! Resources that are stored coded, and URIs that stand for several resources (§14.3).

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use instep_source::{CodingRule, GenericRule};

use super::{
    raw::{get, request},
    server::{Server, folder},
};

#[test]
fn a_file_that_is_stored_coded_is_served_so() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&b"<a/>".repeat(100)).unwrap();
    let coded = gzip.finish().unwrap();
    let server = Server::with(folder(&[("a.xml.gz", &coded), ("b.gz", &coded)]), |options| {
        options.publish.sets[0].codings = vec![CodingRule::new("*.xml.gz", "gzip")];
    });
    let answer = get(server.address, "/a.xml.gz");
    assert_eq!(
        (answer.header("content-encoding"), answer.header("content-type")),
        (Some("gzip"), Some("text/xml"))
    );
    assert_eq!(answer.body, coded);
    assert_eq!(get(server.address, "/b.gz").header("content-encoding"), None);
    let list = get(server.address, "/resourcesync/resourcelist.xml").text();
    let entry = list.split("<url>").find(|entry| entry.contains("a.xml.gz</loc>")).unwrap();
    assert!(entry.contains("encoding=\"gzip\""), "{entry}");
    assert!(entry.contains(&format!("length=\"{}\"", coded.len())), "{entry}");
}

#[test]
fn a_generic_uri_answers_with_what_the_client_accepts() {
    let files: [(&str, &[u8]); 3] = [("r/1.html", b"page"), ("r/1.pdf", b"paper"), ("r/2.pdf", b"paper")];
    let server = Server::with(folder(&files), |options| {
        let specific = ["r/*.html", "r/*.pdf"].map(str::to_owned);
        options.publish.sets[0].generics = vec![GenericRule::new("r/*", specific)];
    });
    let asked = |target: &str, accept: &str| request(server.address, "GET", target, &[accept]);
    for (target, accept, text, location) in [
        ("/r/1", "X-None: 1", "page", "r/1.html"),
        ("/r/1", "Accept: application/pdf, text/html;q=0.2", "paper", "r/1.pdf"),
        ("/r/2", "Accept: text/html;q=0.9, */*;q=0.1", "paper", "r/2.pdf"),
    ] {
        let answer = asked(target, accept);
        assert_eq!((answer.status, answer.text().as_str()), (200, text), "{target} {accept}");
        assert_eq!(answer.header("vary"), Some("accept"));
        assert_eq!(answer.header("content-location"), Some(format!("{}{location}", server.base).as_str()));
    }
    let refused = asked("/r/1", "Accept: image/png");
    assert_eq!((refused.status, refused.header("vary")), (406, Some("accept")));
    assert!(refused.text().contains("r/1.pdf"), "{}", refused.text());
    assert_eq!(asked("/r/3", "Accept: */*").status, 404);
    let list = get(server.address, "/resourcesync/resourcelist.xml").text();
    let entry = list.split("<url>").find(|entry| entry.contains("r/1.html</loc>")).unwrap();
    assert!(entry.contains(&format!("rel=\"canonical\" href=\"{}r/1\"", server.base)), "{entry}");
    let alternate = format!("rel=\"alternate\" href=\"{}r/1.pdf\" type=\"application/pdf\"", server.base);
    assert!(entry.contains(&alternate), "{entry}");
}
