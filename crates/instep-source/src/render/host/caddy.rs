//! Directives for a site block of Caddy.

use super::directives::{CodedFiles, Directives, Redirect, STATE_FOLDERS, decoded, is_plain};

pub(super) fn directives(directives: &Directives) -> String {
    let mut text = format!("@state path_regexp {STATE_FOLDERS}\nrespond @state 404\n");
    if let Some(Redirect { from, to }) = &directives.redirect {
        text.push_str(&format!("redir {from} {} 301\n", quoted(to.as_str())));
    }
    let description = quoted(&decoded(&directives.description));
    text.push_str(&format!("header {description} Content-Type application/xml\n"));
    for (path, link) in &directives.links {
        text.push_str(&format!("header \"{}*\" Link `{link}`\n", decoded(path).replace('"', "\\\"")));
    }
    for (number, CodedFiles { pattern, media_type, coding, link }) in (1..).zip(&directives.coded) {
        let link = link.as_ref().map(|link| format!("  Link `{link}`\n")).unwrap_or_default();
        text.push_str(&format!(
            "@coded{number} path_regexp `{pattern}`\nheader @coded{number} {{\n  Content-Encoding {coding}\n  \
             Content-Type {media_type}\n{link}}}\n"
        ));
    }
    text
}

/// Returns text in quotes if it needs them.
fn quoted(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\\\"")) }
}
