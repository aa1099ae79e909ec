//! Directives for a virtual host of the Apache HTTP Server.

use super::directives::{CodedFiles, Directives, Redirect, STATE_FOLDERS, decoded};

pub(super) fn directives(directives: &Directives) -> String {
    let mut text = format!("RedirectMatch 404 \"{STATE_FOLDERS}\"\n");
    if let Some(Redirect { from, to }) = &directives.redirect {
        // Not `Redirect`, which would match all paths with this prefix.
        text.push_str(&format!("RedirectMatch 301 \"^{from}$\" \"{to}\"\n"));
    }
    let description = &directives.description;
    text.push_str(&format!("<Location \"{description}\">\n  ForceType application/xml\n</Location>\n"));
    for (path, link) in &directives.links {
        let path = decoded(path).replace('"', "\\\"");
        text.push_str(&format!("<Location \"{path}\">\n  Header set Link '{link}'\n</Location>\n"));
    }
    for CodedFiles { pattern, media_type, coding, link } in &directives.coded {
        let link = link.as_ref().map(|link| format!("  Header set Link '{link}'\n")).unwrap_or_default();
        text.push_str(&format!(
            "<LocationMatch \"{pattern}\">\n  ForceType {media_type}\n  SetEnv no-gzip 1\n  \
             Header set Content-Encoding {coding}\n{link}</LocationMatch>\n"
        ));
    }
    text
}
