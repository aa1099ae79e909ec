//! Directives for a virtual host of the Apache HTTP Server.

use super::directives::{CodedFiles, Directives, Redirect, STATE_FOLDERS, decoded, inert};

pub(super) fn directives(directives: &Directives) -> String {
    let mut text = format!("RedirectMatch 404 \"{STATE_FOLDERS}\"\n");
    if let Some(Redirect { from, to }) = &directives.redirect {
        // Not `Redirect`, which would match all paths with this prefix. This one encodes its target, in which `$` begins a
        // group.
        let to = for_quotes(to.as_str()).replace('$', "\\$");
        text.push_str(&format!("RedirectMatch 301 \"^{from}$\" \"{to}\"\n"));
    }
    let description = for_quotes(&directives.description);
    text.push_str(&format!("<Location \"{description}\">\n  ForceType application/xml\n</Location>\n"));
    for (path, link) in &directives.links {
        let (path, link) = (for_quotes(path), header(link));
        text.push_str(&format!("<Location \"{path}\">\n  Header set Link '{link}'\n</Location>\n"));
    }
    for CodedFiles { pattern, media_type, coding, link } in &directives.coded {
        let link =
            link.as_ref().map(|link| format!("  Header set Link '{}'\n", header(link))).unwrap_or_default();
        text.push_str(&format!(
            "<LocationMatch \"{pattern}\">\n  ForceType {media_type}\n  SetEnv no-gzip 1\n  \
             Header set Content-Encoding {coding}\n{link}</LocationMatch>\n"
        ));
    }
    text
}

/// Returns a path for use in quotes.
fn for_quotes(path: &str) -> String {
    decoded(path).replace('"', "\\\"")
}

/// Returns the value of a header; a single `%` would begin a variable.
fn header(link: &str) -> String {
    inert(link).replace('%', "%%")
}
