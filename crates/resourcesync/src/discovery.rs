//! Discovery of a Source (§6.3): text in, URIs out. The caller fetches.
//!
//! The `capability` of the document that a link leads to decides what it is, never the way it was found (DISC-7).
//!
//! ```
//! use resourcesync::discovery;
//! # fn main() -> Result<(), resourcesync::UriError> {
//! let page = "https://example.com/dataset/page.html".parse()?;
//! assert_eq!(discovery::well_known(&page)?.as_str(), "https://example.com/.well-known/resourcesync");
//!
//! let header = r#"</caps.xml>; rel="resourcesync", </style.css>; rel=stylesheet"#;
//! assert_eq!(discovery::from_link_header(header, &page)[0].as_str(), "https://example.com/caps.xml");
//!
//! let html = br#"<head><link rel="resourcesync" href="caps.xml"></head>"#;
//! assert_eq!(discovery::from_html(html, &page)[0].target.as_str(), "https://example.com/dataset/caps.xml");
//!
//! let robots = "User-agent: *\nSitemap: https://example.com/resourcelist.xml\n";
//! assert_eq!(discovery::from_robots(robots, &page)[0].as_str(), "https://example.com/resourcelist.xml");
//! # Ok(())
//! # }
//! ```

mod html;
mod link_header;
mod robots;

pub use html::{HtmlLink, from_html};
pub use link_header::{HeaderLink, from_link_header, parse_link_header};
pub use robots::{crawl_delay, from_robots};

use crate::value::{Uri, UriError};

/// Returns the well-known URI of a host's Source Description; the path of `uri` does not matter (DISC-1, RFC 8615).
///
/// # Errors
/// If the URI has no host.
pub fn well_known(uri: &Uri) -> Result<Uri, UriError> {
    uri.resolve("/.well-known/resourcesync")
}

/// Returns the URI of a host's robots.txt (DISC-5).
///
/// # Errors
/// If the URI has no host.
pub fn robots(uri: &Uri) -> Result<Uri, UriError> {
    uri.resolve("/robots.txt")
}
