//! The `Sitemap:` lines of `robots.txt` (DISC-5).

use resourcesync::Uri;

use super::{
    SourcePolicy,
    place::{RESOURCE_LIST, ROBOTS, SITEMAP},
    writer::RenderedDocuments,
};
use crate::{Error, sink::Rank};

const BEGIN: &str = "# BEGIN instep";
const END: &str = "# END instep";

/// Writes the lines into `robots.txt` if it lies at the root of the host; its other content stays, byte for byte.
///
/// `operators` is the file that the operator has among the resources; `None` if the one in place is the operator's.
pub(super) fn render(
    policy: &SourcePolicy,
    operators: Option<&[u8]>,
    documents: &mut RenderedDocuments<'_>,
) -> Result<(), Error> {
    if !policy.place.is_host_root() {
        return Ok(());
    }
    let in_place = documents.read(ROBOTS)?;
    let existing = operators.or(in_place.as_deref()).unwrap_or_default();
    let has_lines = |text: &[u8]| find(text, BEGIN).is_some();
    let text = if policy.robots {
        with_lines(existing, &sitemap_lines(policy))
    } else if in_place.as_deref().is_some_and(has_lines) || has_lines(existing) {
        // A file with nothing else stays, empty: one that is removed later could by then be the operator's.
        without_lines(existing)
    } else {
        return Ok(());
    };
    if in_place.as_ref() == Some(&text) {
        documents.keep(ROBOTS);
        return Ok(());
    }
    documents.bytes(ROBOTS, Rank::Source, &text)
}

/// Returns a `Sitemap:` line for each set (DISC-5), and one for its plain Sitemap. The Resource List comes first, so that
/// a Destination that follows only one line finds the Source.
pub(super) fn sitemap_lines(policy: &SourcePolicy) -> Vec<String> {
    let names = if policy.sitemap_twin { &[RESOURCE_LIST, SITEMAP][..] } else { &[RESOURCE_LIST] };
    let listed = policy.sets.iter().filter(|set| set.resource_list);
    listed.flat_map(|set| names.iter().map(|name| line(&set.place.uri(name)))).collect()
}

fn line(uri: &Uri) -> String {
    format!("Sitemap: {uri}")
}

/// Puts our lines between their markers: replacing the present ones, otherwise at the end. The rest may be in any
/// encoding that includes ASCII, so it is handled as bytes.
fn with_lines(existing: &[u8], lines: &[String]) -> Vec<u8> {
    let (before, rest) = around(existing);
    let mut text = before.to_vec();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for line in [BEGIN].into_iter().chain(lines.iter().map(String::as_str)).chain([END]) {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    text.extend_from_slice(rest);
    text
}

/// Removes our lines with their markers.
fn without_lines(existing: &[u8]) -> Vec<u8> {
    let (before, rest) = around(existing);
    [before, rest].concat()
}

/// Returns the text before our lines and the text behind them.
fn around(existing: &[u8]) -> (&[u8], &[u8]) {
    let Some(begin) = find(existing, BEGIN) else { return (existing, &[]) };
    let ours = &existing[begin..];
    let rest = find(ours, END).map_or(&[][..], |end| &ours[end + END.len()..]);
    (&existing[..begin], rest.strip_prefix(b"\n").unwrap_or(rest))
}

fn find(text: &[u8], marker: &str) -> Option<usize> {
    text.windows(marker.len()).position(|window| window == marker.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, lines: &[String]) -> String {
        String::from_utf8(with_lines(text.as_bytes(), lines)).unwrap()
    }

    #[test]
    fn robots_lines_stand_between_markers_and_the_rest_stays() {
        let first = ["Sitemap: http://a/1".to_owned()];
        let second = ["Sitemap: http://a/2".to_owned()];
        let ours = |uri: &str| format!("# BEGIN instep\nSitemap: {uri}\n# END instep\n");
        assert_eq!(written("", &first), ours("http://a/1"));
        let existing = "User-agent: *\nDisallow: /x";
        let once = written(existing, &first);
        assert_eq!(once, format!("{existing}\n{}", ours("http://a/1")));
        assert_eq!(written(&once, &first), once);
        let extended = format!("{once}Allow: /y\n");
        assert_eq!(written(&extended, &second), format!("{existing}\n{}Allow: /y\n", ours("http://a/2")));
        assert_eq!(written("# BEGIN instep\ncut off", &first), ours("http://a/1"));
    }

    #[test]
    fn o323_without_our_lines_no_marker_stays() {
        let lines = ["Sitemap: http://a/1".to_owned()];
        for existing in ["", "User-agent: *\n", "# caf\u{e9}\r\n"] {
            assert_eq!(without_lines(&with_lines(existing.as_bytes(), &lines)), existing.as_bytes());
        }
        let extended = [&with_lines(b"A\n", &lines)[..], b"B\n"].concat();
        assert_eq!(without_lines(&extended), b"A\nB\n");
        assert_eq!(without_lines(b"# BEGIN instep\ncut off"), b"");
    }

    #[test]
    fn c15_bytes_that_are_no_utf_8_stay_as_they_are() {
        let lines = ["Sitemap: http://a/1".to_owned()];
        let existing = b"# caf\xe9\r\nDisallow: /\r\n\xff";
        let once = with_lines(existing, &lines);
        assert!(once.starts_with(existing));
        assert_eq!(with_lines(&once, &lines), once);
    }
}
