//! Shows where a page, a `Link` header or a robots.txt leads to. Fetching is up to the caller:
//! `curl -s URL | cargo run -p resourcesync --example discover -- URL`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::{env, error::Error, io::Read};

use resourcesync::{Uri, UriError, discovery};

fn main() -> Result<(), Box<dyn Error>> {
    let page: Uri = env::args().nth(1).ok_or("usage: discover URL < PAGE")?.parse()?;
    let mut html = Vec::new();
    std::io::stdin().read_to_end(&mut html)?;
    for candidate in candidates(&page, &html, "", "")? {
        println!("{candidate}");
    }
    Ok(())
}

/// Returns the URIs where a Source may be found, in the order to try them (§6.3).
///
/// The `capability` of the document that is found there decides what it is, not the way it was found.
fn candidates(page: &Uri, html: &[u8], link_header: &str, robots: &str) -> Result<Vec<Uri>, UriError> {
    let mut found = vec![discovery::well_known(page)?];
    found.extend(discovery::from_link_header(link_header, page));
    found.extend(discovery::from_html(html, page).into_iter().map(|link| link.target));
    found.extend(discovery::from_robots(robots, &discovery::robots(page)?));
    Ok(found)
}

#[test]
fn the_example_runs() -> Result<(), Box<dyn Error>> {
    let html = br#"<head><link rel="resourcesync" href="caps.xml"></head>"#;
    let link = r#"<https://example.com/other/caps.xml>; rel="resourcesync""#;
    let robots = "Sitemap: /resourcelist.xml\nSitemap: /set2/resourcelist.xml\n";
    let found = candidates(&"https://example.com/a/page".parse()?, html, link, robots)?;
    let found: Vec<_> = found.iter().map(Uri::as_str).collect();
    let expected = [
        "https://example.com/.well-known/resourcesync",
        "https://example.com/other/caps.xml",
        "https://example.com/a/caps.xml",
        "https://example.com/resourcelist.xml",
        "https://example.com/set2/resourcelist.xml",
    ];
    assert_eq!(found, expected);
    Ok(())
}
