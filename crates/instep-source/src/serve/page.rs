//! Pages for people: no script is needed, nothing is loaded from elsewhere.

mod browse;
mod chart;

use axum::{body::Body, response::Response};
use http::{HeaderValue, header};
use maud::{DOCTYPE, Markup, html};

use super::overview::{Overview, SetOverview};
pub(crate) use browse::routes;

/// What a page may load: its own style, and events of this host.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const STYLE: &str = "\
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent)}\
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1rem}\
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem}\
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid var(--line);padding:.3rem .6rem .3rem 0;text-align:left;overflow-wrap:anywhere}\
td.figure{text-align:right;white-space:nowrap}time{white-space:nowrap}\
pre{border:1px solid var(--line);border-radius:.4rem;overflow-x:auto;padding:.6rem}\
.created{color:#16803c}.updated{color:#2563eb}.deleted{color:#dc2626}";

/// Shows changes while they happen, on a page that is open. Everything is put in as text.
pub(crate) const LIVE: &str = "\
const table = document.getElementById('changes');
const cell = (row, child, kind) => {
  const td = row.insertCell();
  if (kind) td.className = kind;
  td.append(child);
};
const made = (name, text) => Object.assign(document.createElement(name), { textContent: text });
new EventSource(table.dataset.events).addEventListener('changes', event => {
  for (const change of JSON.parse(event.data)) {
    if (table.dataset.empty) { table.deleteRow(0); delete table.dataset.empty; }
    const row = table.insertRow(0);
    const link = made('a', change.uri.startsWith(table.dataset.base) ? change.uri.slice(table.dataset.base.length) : change.uri);
    link.href = change.uri;
    cell(row, made('time', change.datetime));
    cell(row, change.change, change.change);
    cell(row, link);
    if (table.rows.length > 50) table.deleteRow(-1);
  }
});
";

/// The page at the base URL: what is here, how much, what changed last, how to keep a copy.
pub(crate) fn front(overview: &Overview) -> String {
    let title =
        overview.base_url.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    layout(
        title,
        &html! {
            p {
                (count(overview.resources(), "resource")) ", " (size(overview.bytes())) ", published with "
                a href=(document(overview, ".well-known/resourcesync")) { "ResourceSync" } "."
                @if let Some(failure) = &overview.failure { " " strong { "The last publication failed: " (failure) } }
            }
            h2 { "Keep a copy" }
            pre { code { "instep sync " (overview.base_url) } }
            p { "It stays in step with " code { "instep sync --follow " (overview.base_url) } "." }
            h2 { "What is here" }
            (sets(&overview.sets))
            p {
                a href=(path(overview, "resourcesync/search?q=")) { "Look for a resource" } ", "
                a href=(path(overview, "resourcesync/charts")) { "see what changed when" } "."
            }
            h2 { "Last changes" }
            (changes(overview))
            script src=(path(overview, "resourcesync/live.js")) {}
            @if let Some(published) = overview.published { p { "Published " time { (published) } "." } }
        },
    )
}

fn sets(sets: &[SetOverview]) -> Markup {
    html! {
        table {
            tr { th { "Set" } th { "Resources" } th { "Size" } th { "Documents" } }
            @for set in sets {
                tr {
                    td { @if set.name.is_empty() { "all" } @else { (set.name) } }
                    td.figure { (set.resources) }
                    td.figure { (size(set.bytes)) }
                    td { @if let Some(list) = &set.capability_list { a href=(list) { "Capability List" } } }
                }
            }
        }
    }
}

fn changes(overview: &Overview) -> Markup {
    html! {
        table #changes data-events=(path(overview, "resourcesync/events")) data-base=(overview.base_url)
            data-empty=[overview.changes.is_empty().then_some("yes")] {
            @for change in &overview.changes {
                tr {
                    td { time { (change.datetime) } }
                    td class=(change.change) { (change.change) }
                    td { a href=(change.uri) { (change.uri.as_str().strip_prefix(&overview.base_url).unwrap_or(change.uri.as_str())) } }
                }
            }
            @if overview.changes.is_empty() { tr { td { "None since the first publication." } } }
        }
    }
}

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

fn layout(title: &str, content: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="icon" href="data:,";
                title { (title) }
                style { (maud::PreEscaped(STYLE)) }
            }
            body { h1 { (title) } (content) }
        }
    }
    .into_string()
}

fn document(overview: &Overview, name: &str) -> String {
    format!("{}{name}", overview.base_url)
}

/// A path on whatever host the page was asked for at: the browser may know this server by another name.
fn path(overview: &Overview, name: &str) -> String {
    let base = overview.base_url.splitn(4, '/').nth(3).unwrap_or_default();
    format!("/{base}{name}")
}

fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A size as people read it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10).min(UNITS.len() as u32);
    format!("{:.1} {}", bytes as f64 / 1024_f64.powi(power as i32), UNITS[power as usize - 1])
}

#[cfg(test)]
mod tests {
    use resourcesync::{Change, DateTime, Uri};

    use super::{super::overview::RecentChange, *};

    #[test]
    fn names_from_the_content_are_text_and_nothing_else() {
        let mut overview = Overview { base_url: "http://example.com/".into(), ..Overview::default() };
        let uri = Uri::parse("http://example.com/a?<b>".replace(['<', '>'], "'").as_str()).unwrap();
        let change = RecentChange { uri, change: Change::Created, datetime: DateTime::from_unix_seconds(0) };
        overview.changes.push(change);
        overview.failure = Some("<script>alert(1)</script>".into());
        let page = front(&overview);
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("instep sync http://example.com/"));
    }

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1 << 20, "1.0 MiB"), (5 << 30, "5.0 GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
