//! The `Sitemap:` lines of `robots.txt` (DISC-5).

use resourcesync::Uri;

use super::{
    Policy,
    place::{RESOURCE_LIST, ROBOTS, SITEMAP},
    writer::Documents,
};
use crate::{Error, sink::Rank};

const BEGIN: &str = "# BEGIN instep";
const END: &str = "# END instep";

/// Writes the lines into `robots.txt`, where that lies at the host's root; what else is in it stays.
pub(super) fn render(policy: &Policy, documents: &mut Documents<'_>) -> Result<(), Error> {
    if !policy.place.is_host_root() {
        return Ok(());
    }
    let existing = documents.read(ROBOTS)?.unwrap_or_default();
    let existing_text = String::from_utf8_lossy(&existing);
    let text = match (policy.robots, existing_text.contains(BEGIN)) {
        (true, _) => with_lines(&existing_text, &sitemap_lines(policy)),
        (false, true) => with_lines(&existing_text, &[]),
        (false, false) => return Ok(()),
    };
    if text.as_bytes() == existing {
        documents.keep(ROBOTS);
        return Ok(());
    }
    documents.bytes(ROBOTS, Rank::Source, text.as_bytes())
}

/// A `Sitemap:` line for each set (DISC-5).
pub(super) fn sitemap_lines(policy: &Policy) -> Vec<String> {
    let name = if policy.sitemap_twin { SITEMAP } else { RESOURCE_LIST };
    let listed = policy.sets.iter().filter(|set| set.resource_list);
    listed.map(|set| line(&set.place.uri(name))).collect()
}

fn line(uri: &Uri) -> String {
    format!("Sitemap: {uri}")
}

/// Puts our lines between their markers: in place of those that are there, else at the end.
fn with_lines(existing: &str, lines: &[String]) -> String {
    let (before, rest) = match existing.split_once(BEGIN) {
        Some((before, ours)) => (before, ours.split_once(END).map_or("", |(_, rest)| rest)),
        None => (existing, ""),
    };
    let mut text = before.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(BEGIN);
    text.push('\n');
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(END);
    text.push('\n');
    text.push_str(rest.strip_prefix('\n').unwrap_or(rest));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_lines_stand_between_markers_and_the_rest_stays() {
        let first = ["Sitemap: http://a/1".to_owned()];
        let second = ["Sitemap: http://a/2".to_owned()];
        let ours = |uri: &str| format!("# BEGIN instep\nSitemap: {uri}\n# END instep\n");
        assert_eq!(with_lines("", &first), ours("http://a/1"));
        let existing = "User-agent: *\nDisallow: /x";
        let once = with_lines(existing, &first);
        assert_eq!(once, format!("{existing}\n{}", ours("http://a/1")));
        assert_eq!(with_lines(&once, &first), once);
        let extended = format!("{once}Allow: /y\n");
        assert_eq!(with_lines(&extended, &second), format!("{existing}\n{}Allow: /y\n", ours("http://a/2")));
        assert_eq!(with_lines("# BEGIN instep\ncut off", &first), ours("http://a/1"));
    }
}
