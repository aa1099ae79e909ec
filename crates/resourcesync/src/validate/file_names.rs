//! Names of documents that are files, which are found by the ends of the URIs that lead to them.

use crate::value::Uri;

/// Returns the URI that has the most segments in common with another one, counted from the end; `None` if several have.
pub(super) fn most_alike<'u>(loc: &Uri, uris: &'u [Uri]) -> Option<&'u Uri> {
    let common = |uri: &Uri| {
        let segments = loc.as_str().rsplit('/').zip(uri.as_str().rsplit('/'));
        segments.take_while(|(one, other)| one == other).count()
    };
    let most = uris.iter().map(common).max()?;
    let mut alike = uris.iter().filter(|uri| common(uri) == most);
    alike.next().filter(|_| alike.next().is_none())
}

/// Returns the text after the last slash.
pub(super) fn last_segment(uri: &Uri) -> &str {
    uri.as_str().rsplit('/').next().unwrap_or_default()
}
