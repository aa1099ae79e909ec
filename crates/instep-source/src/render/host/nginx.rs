//! Directives for a `server` block of nginx.

use super::directives::{CodedFiles, Directives, Redirect, STATE_FOLDERS, decoded};

pub(super) fn directives(directives: &Directives) -> String {
    let mut text = format!("location ~ {STATE_FOLDERS} {{ return 404; }}\n");
    if let Some(Redirect { from, to }) = &directives.redirect {
        text.push_str(&format!("location = {from} {{ return 301 {to}; }}\n"));
    }
    text.push_str(&format!("location = {} {{ default_type application/xml; }}\n", directives.description));
    for CodedFiles { pattern, media_type, coding, link } in &directives.coded {
        let link = link.as_ref().map(|link| format!("add_header Link '{link}';")).unwrap_or_default();
        text.push_str(&format!(
            "location ~ \"{pattern}\" {{ types {{}} default_type {media_type}; gzip off; \
             add_header Content-Encoding {coding}; {link} }}\n"
        ));
    }
    for (path, link) in &directives.links {
        text.push_str(&format!("location {} {{ add_header Link '{link}'; }}\n", quoted(path)));
    }
    text
}

/// Returns a path in quotes if it needs them.
fn quoted(path: &str) -> String {
    let path = decoded(path);
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte));
    match is_plain {
        true => path,
        false => format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}
