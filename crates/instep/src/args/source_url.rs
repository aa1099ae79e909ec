//! The URL of a Source on the command line, which may be typed without its scheme.

use std::path::Path;

use anyhow::bail;
use resourcesync::Uri;

use super::values;

/// Reads the URL of a Source as it is typed.
///
/// Errors: it is no URL that can be used, or the path of a file or folder on this machine.
pub(crate) fn source_url(text: &str) -> anyhow::Result<Uri> {
    if let Some(kind) = kind_of_path(text) {
        bail!(
            "{text:?} is a {kind} here, not a URL; write the URL of the Source, such as https://example.org/{}",
            if text.contains('/') { String::new() } else { format!(", or https://{text}/ for that host") }
        );
    }
    values::url(text).map_err(anyhow::Error::msg)
}

/// Returns `folder` or `file` if a text names one rather than a host. The copy of a host that was typed alone is in a
/// folder with that name. So a folder does not count if its name could be that of a host on the Internet, or if the
/// copy of that host is in it.
fn kind_of_path(text: &str) -> Option<&'static str> {
    let first = text.split('/').next().unwrap_or_default();
    if first.is_empty() || first.contains(':') {
        return None;
    }
    let path = Path::new(text);
    if path.is_file() {
        return Some("file");
    }
    let is_of_host = first.contains('.') || first == "localhost" || has_copy_of(path, first);
    (path.is_dir() && !is_of_host).then_some("folder")
}

/// Returns `true` if a folder has the copy of a Source on this host.
fn has_copy_of(folder: &Path, host: &str) -> bool {
    let url = instep_destination::status(folder).ok().and_then(|status| status.url);
    url.and_then(|url| Some(url::Url::parse(&url).ok()?.host_str()? == host)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o318_a_path_on_this_machine_is_not_taken_for_a_host() {
        // Tests run in the folder of their package, which has `src` and `Cargo.toml`.
        for (text, kind) in [
            ("src", Some("folder")),
            ("src/", Some("folder")),
            ("Cargo.toml", Some("file")),
            ("src/main.rs", Some("file")),
            ("example.org", None),
            ("intranet", None),
            ("localhost:8080", None),
            ("https://src/", None),
            ("intranet/list.xml", None),
        ] {
            assert_eq!(kind_of_path(text), kind, "{text}");
        }
        let said = source_url("src").unwrap_err().to_string();
        assert!(said.contains("is a folder here") && said.contains("https://src/ for that host"), "{said}");
        assert!(source_url("src/main.rs").unwrap_err().to_string().ends_with("https://example.org/"));
    }
}
