//! The design that all pages share: the frame with style and script, and the parts that pages are made of. It knows
//! neither Sources nor copies.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::OnceLock,
    time::Duration,
};

use http::{HeaderValue, Response, StatusCode, header};
use maud::{DOCTYPE, Markup, html};
use resourcesync::{Change, DateTime};

use crate::ui::format::{count, elapsed};

/// The `Content-Security-Policy` of pages. Style, script, pictures and events come only from this host, and no script
/// in the page itself is run. So a name that was not escaped would still have no effect.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
     frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const STYLE: &str = include_str!("style.css");

/// The script that updates open pages. Pages are complete without it, and it inserts everything as text.
const SCRIPT: &str = include_str!("live.js");

const ICON: &str = include_str!("icon.svg");

/// The frame of a page: everything around its content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// The name of the Source or copy, which leads to its first page.
    pub(crate) name: String,
    /// The path at which style and script are served, with its final slash.
    pub(crate) assets: String,
    /// The pages that each page leads to: label and address; the first is the one that the name leads to.
    pub(crate) links: Vec<(&'static str, String)>,
    /// The address of the search; `None` if there is none.
    pub(crate) search: Option<String>,
    /// The Capability Lists that the first page leads to for discovery (DISC-2).
    pub(crate) lists: Vec<String>,
    /// The time after which a browser that runs no script loads the page again, in seconds.
    pub(crate) refresh: Option<u32>,
    /// The address of events that announce that the page is outdated; `None` if there are none.
    pub(crate) events: Option<String>,
}

/// A page without its frame.
#[derive(Debug)]
pub(crate) struct PageBody {
    /// The status of the answer.
    pub(crate) status: StatusCode,
    /// The heading, and the beginning of the title.
    pub(crate) title: String,
    /// The address among [`Frame::links`] that this page belongs to.
    pub(crate) belongs_to: &'static str,
    /// Everything below the heading.
    pub(crate) content: Markup,
}

impl PageBody {
    /// Creates a page for an existing address, with status 200.
    pub(crate) fn new(title: impl Into<String>, belongs_to: &'static str, content: Markup) -> Self {
        Self { status: StatusCode::OK, title: title.into(), belongs_to, content }
    }
}

/// Returns a page in its frame. `typed` is the text in the search field.
pub(crate) fn page(frame: &Frame, body: &PageBody, typed: &str) -> Response<Vec<u8>> {
    let home = frame.links.first().map(|(_, address)| address.as_str()).unwrap_or_default();
    let title = if body.title == frame.name {
        frame.name.clone()
    } else {
        format!("{} - {}", body.title, frame.name)
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" type="image/svg+xml" href=(asset(frame, "icon.svg"));
                link rel="stylesheet" href=(asset(frame, "style.css"));
                @for list in &frame.lists { link rel="resourcesync" href=(list); }
                @if let Some(seconds) = frame.refresh {
                    noscript { meta http-equiv="refresh" content=(seconds); }
                }
                script src=(asset(frame, "live.js")) defer {}
            }
            body data-events=[frame.events.as_ref()] {
                a.skip href="#content" { "Skip to the content" }
                header.top {
                    div.inner {
                        a.name href=(home) { (frame.name) }
                        nav aria-label="Pages" {
                            @for (label, address) in &frame.links {
                                a href=(address) aria-current=[(*label == body.belongs_to).then_some("page")] { (label) }
                            }
                        }
                        @if let Some(action) = &frame.search {
                            form.search role="search" action=(action) {
                                input type="search" name="q" value=(typed) placeholder="Find a resource" aria-label="Find a resource";
                                button { "Search" }
                            }
                        }
                    }
                }
                main #content {
                    h1 { (body.title) }
                    (body.content)
                }
                footer { p { "Times are UTC. Made by instep " (env!("CARGO_PKG_VERSION")) "." } }
            }
        }
    };
    answer(body.status, "text/html; charset=utf-8", "no-cache", markup.into_string())
}

/// Returns the answer for a file of the design; `None` if there is none with this name.
pub(crate) fn file(name: &str) -> Option<Response<Vec<u8>>> {
    let (media_type, text) = match name {
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "live.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return None,
    };
    Some(answer(StatusCode::OK, media_type, "public, max-age=86400", text.to_owned()))
}

/// Returns the address of a file of the design. It has a mark that changes with the files, because browsers keep them
/// for a day.
fn asset(frame: &Frame, name: &str) -> String {
    static MARK: OnceLock<u64> = OnceLock::new();
    let mark = MARK.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        [STYLE, SCRIPT, ICON].hash(&mut hasher);
        hasher.finish()
    });
    format!("{}{name}?{mark:x}", frame.assets)
}

fn answer(
    status: StatusCode,
    media_type: &'static str,
    kept: &'static str,
    text: String,
) -> Response<Vec<u8>> {
    let mut response = Response::new(text.into_bytes());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

/// Draws figures side by side. Each has a label, a name for the script, a value and a note.
pub(crate) fn figures(figures: &[(&str, &str, Markup, Markup)]) -> Markup {
    html! {
        dl.figures {
            @for (label, name, value, more) in figures {
                div {
                    dt { (label) }
                    dd { span data-figure=(name) { (value) } small { (more) } }
                }
            }
        }
    }
}

/// Draws lines to copy into a terminal.
pub(crate) fn copyable(lines: &str) -> Markup {
    html! { div.copy { pre tabindex="0" { code { (lines) } } } }
}

/// Draws a message about a fault, with what to do about it.
pub(crate) fn warning(what: &str, remedy: &str) -> Markup {
    html! { div.warning role="status" { p { strong { (what) } } @if !remedy.is_empty() { p { (remedy) } } } }
}

/// Draws a moment to the second. Its attribute has the complete time.
pub(crate) fn moment(moment: DateTime) -> Markup {
    let whole = moment.to_string();
    let short = whole.get(..19).map_or_else(|| whole.clone(), |short| short.replace('T', " "));
    html! { time datetime=(whole) title=(whole) { (short) } }
}

/// Returns the time since a moment, such as `3 min 10 s ago`.
pub(crate) fn ago(moment: DateTime, now: DateTime) -> String {
    let since = now.unix_micros().saturating_sub(moment.unix_micros());
    let since = Duration::from_micros(u64::try_from(since).unwrap_or(0));
    if since.as_secs() == 0 { "just now".to_owned() } else { format!("{} ago", passed(since)) }
}

/// Returns a duration in words. Fractions of a second are left out: between two clocks they mean nothing.
pub(crate) fn passed(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => elapsed(time),
    }
}

/// Draws a kind of change as a coloured word.
pub(crate) fn change_kind(change: &Change) -> Markup {
    html! { span class=(format!("kind {change}")) { (change) } }
}

/// Draws a link to a URI from outside if it is http or https. Any other URI is text, because it may be a script (C18).
pub(crate) fn outside_link(uri: &str) -> Markup {
    outside_link_as(uri, uri)
}

/// Draws a link to a URI from outside as [`outside_link`] does, with another text.
pub(crate) fn outside_link_as(uri: &str, text: &str) -> Markup {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    html! {
        @if matches!(scheme.as_deref(), Some("http" | "https")) { a href=(uri) rel="nofollow noreferrer" { (text) } }
        @else { (text) }
    }
}

/// Draws rows of label, number of resources and note, with a bar for each number. The longest bar is the largest
/// number.
pub(crate) fn bars(caption: &str, rows: &[(Markup, u64, String)]) -> Markup {
    let largest = rows.iter().map(|(_, number, _)| *number).max().unwrap_or(0).max(1);
    html! {
        table.bars {
            caption { (caption) }
            thead.quiet { tr { th scope="col" { "Name" } th scope="col" { "Resources" } th scope="col" { "Size" } } }
            tbody {
                @for (label, number, more) in rows {
                    tr {
                        th scope="row" {
                            (label)
                            svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                                rect width=((number * 1_000).div_ceil(largest)) height="10" {}
                            }
                        }
                        td.figure { (count(*number)) }
                        td.figure { (more) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c18_only_addresses_of_the_web_become_links() {
        for harmful in ["javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "no scheme"] {
            assert!(!outside_link(harmful).into_string().contains("href"), "{harmful}");
        }
        assert!(outside_link("https://example.com/").into_string().contains("href"));
    }

    #[test]
    fn d10_markup_in_names_is_text() {
        let frame = Frame { name: "<b>".to_owned(), ..Frame::default() };
        let body = PageBody::new("<script>alert(1)</script>", "", copyable("<i>"));
        let page = page(&frame, &body, "\"><script>");
        let text = String::from_utf8(page.into_body()).unwrap();
        assert!(!text.contains("<script>") && !text.contains("<i>") && !text.contains("<b>"), "{text}");
    }
}
