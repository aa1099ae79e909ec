//! Pages for people: no script is needed, nothing is loaded from elsewhere.

mod browse;
mod chart;
mod charts;
mod document;
mod front;

use axum::{body::Body, response::Response};
use http::{HeaderValue, header};
use maud::{DOCTYPE, Markup, html};
use resourcesync::{Change, DateTime, Uri};

pub(crate) use browse::routes;
pub(crate) use front::front_page;

/// The `Content-Security-Policy` of pages: they load their own style, and the script and the events of this host.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const STYLE: &str = include_str!("page/style.css");

/// Shows changes while they happen, on a page that is open. Everything is put in as text.
pub(crate) const LIVE: &str = include_str!("page/live.js");

/// A page as an answer.
pub(crate) fn respond(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// Lays out a page. `lists` are the Capability Lists that it leads to for discovery (DISC-2).
fn layout(base: &str, lists: &[Uri], title: &str, content: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="icon" href="data:,";
                @for list in lists { link rel="resourcesync" href=(list.as_str()); }
                title { (title) }
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                header { nav { a href=(path(base, "resourcesync/")) { "Overview" } } h1 { (title) } }
                main { (content) }
                footer {
                    a href=(path(base, "resourcesync/document?name=.well-known/resourcesync")) { "Source Description" } " \u{b7} "
                    a href=(path(base, "resourcesync/charts")) { "Charts" } " \u{b7} "
                    a href=(path(base, "status")) { "Status" } " \u{b7} published by instep"
                }
                script src=(path(base, "resourcesync/live.js")) {}
            }
        }
    }
    .into_string()
}

/// Figures side by side: what they are, their name for the script, their value.
fn figures(figures: &[(&str, &str, String)]) -> Markup {
    html! {
        dl.figures {
            @for (what, name, value) in figures {
                div { dt { (what) } dd data-figure=(name) { (value) } }
            }
        }
    }
}

/// A line to copy into a terminal.
fn copyable(line: &str) -> Markup {
    html! { div.copy { code { (line) } } }
}

/// The form that leads to a search.
fn search_form(action: &str, text: &str) -> Markup {
    html! {
        form action=(action) {
            input type="search" name="q" value=(text) placeholder="Beginning of a path or URI" aria-label="Search";
            button { "Search" }
        }
    }
}

/// A moment to the second; the rest is in its attribute.
fn moment(moment: DateTime) -> Markup {
    let whole = moment.to_string();
    let short = whole.get(..19).map_or_else(|| whole.clone(), |short| short.replace('T', " "));
    html! { time datetime=(whole) title=(whole) { (short) } }
}

fn change_kind(change: &Change) -> Markup {
    html! { span class=(format!("kind {change}")) { (change) } }
}

/// The way to the page of a resource; one that is gone has none.
fn resource_link(base: &str, uri: &str, is_gone: bool) -> Markup {
    let short = uri.strip_prefix(base).filter(|short| !short.is_empty()).unwrap_or(uri);
    html! {
        @if is_gone { (short) } @else {
            a href=(path(base, &format!("resourcesync/resource?{}", query("uri", uri)))) { (short) }
        }
    }
}

fn query(parameter: &str, value: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair(parameter, value).finish()
}

/// A path on whatever host the page was asked for at: the browser may know this server by another name.
fn path(base: &str, name: &str) -> String {
    format!("/{}{name}", base.splitn(4, '/').nth(3).unwrap_or_default())
}

/// `1,234,567`
fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1_000), number % 1_000),
    }
}

/// A size as people read it.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10).min(UNITS.len() as u32);
    format!("{:.1} {}", bytes as f64 / 1024_f64.powi(power as i32), UNITS[power as usize - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers_read_well() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1 << 20, "1.0 MiB"), (5 << 30, "5.0 GiB")]
        {
            assert_eq!(size(bytes), text);
        }
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
