//! Directives for a `server` block of nginx.

use super::directives::{CodedFiles, Directives, Redirect, STATE_FOLDERS, decoded, inert, is_plain};

pub(super) fn directives(directives: &Directives) -> String {
    let mut text = format!("location ~ {STATE_FOLDERS} {{ return 404; }}\n");
    if let Some(Redirect { from, to }) = &directives.redirect {
        text.push_str(&format!("location = {from} {{ return 301 {}; }}\n", quoted(&inert(to.as_str()))));
    }
    let description = quoted(&decoded(&directives.description));
    text.push_str(&format!("location = {description} {{ default_type application/xml; }}\n"));
    for CodedFiles { pattern, media_type, coding, link } in &directives.coded {
        let link =
            link.as_ref().map(|link| format!("add_header Link '{}';", inert(link))).unwrap_or_default();
        text.push_str(&format!(
            "location ~ \"{pattern}\" {{ types {{}} default_type {media_type}; gzip off; \
             add_header Content-Encoding {coding}; {link} }}\n"
        ));
    }
    for (path, link) in &directives.links {
        let (path, link) = (quoted(&decoded(path)), inert(link));
        text.push_str(&format!("location {path} {{ add_header Link '{link}'; }}\n"));
    }
    text
}

/// Returns text in quotes if it needs them.
fn quoted(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
