//! Lines of robots.txt: `Sitemap:` (DISC-5), and the pause that a host asks its readers for.

use std::time::Duration;

use std::collections::BTreeSet;

use crate::value::Uri;

/// Returns the Sitemaps that a robots.txt names, all of them; Resource Lists may be among them (DISC-5). The directive
/// may be anywhere in the file, in any case; relative URIs are resolved against that of the file, and characters that no
/// URI has are percent-encoded.
pub fn from_robots(text: &str, file: &Uri) -> Vec<Uri> {
    let lines = text.trim_start_matches('\u{feff}').split(['\n', '\r']);
    let value = |line: &str| {
        let (directive, value) = line.split_once(':')?;
        let value = value.split('#').next().unwrap_or_default().trim();
        let named = directive.trim().eq_ignore_ascii_case("sitemap") && !value.is_empty();
        named.then(|| file.resolve_as_written(value.as_bytes()).ok()).flatten()
    };
    let mut seen = BTreeSet::new();
    lines.filter_map(value).filter(|uri| seen.insert(uri.clone())).collect()
}

/// Returns the pause between two requests that a robots.txt asks a reader for (`Crawl-delay`): that of the group that
/// names the reader, else that of the group for all. `None` if it asks for none.
///
/// ```
/// use std::time::Duration;
/// let robots = "User-agent: *\nCrawl-delay: 0.5\n";
/// assert_eq!(resourcesync::discovery::crawl_delay(robots, "instep"), Some(Duration::from_millis(500)));
/// ```
pub fn crawl_delay(text: &str, reader: &str) -> Option<Duration> {
    let (mut own, mut of_all) = (None, None);
    let (mut is_own, mut is_of_all, mut names_readers) = (false, false, false);
    for line in text.trim_start_matches('\u{feff}').split(['\n', '\r']) {
        let Some((directive, value)) = line.split_once(':') else { continue };
        let value = value.split('#').next().unwrap_or_default().trim();
        match &*directive.trim().to_ascii_lowercase() {
            "user-agent" => {
                if !std::mem::replace(&mut names_readers, true) {
                    (is_own, is_of_all) = (false, false);
                }
                is_own |= value.eq_ignore_ascii_case(reader);
                is_of_all |= value == "*";
            }
            "crawl-delay" => {
                names_readers = false;
                let seconds =
                    value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                own = own.or(seconds.filter(|_| is_own));
                of_all = of_all.or(seconds.filter(|_| is_of_all));
            }
            "sitemap" => {}
            _ => names_readers = false,
        }
    }
    own.or(of_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_that_of_the_own_group_else_of_all() {
        let text = "User-agent: other\nCrawl-delay: 9\n\nUser-agent: *\nDisallow: /x\nCrawl-delay: 2 # s\n";
        let seconds = |text: &str| crawl_delay(text, "instep").map(|pause| pause.as_secs_f64());
        assert_eq!(seconds(text), Some(2.0));
        assert_eq!(
            seconds(&format!("{text}User-Agent: x\nuser-agent: Instep\nCRAWL-DELAY: 0.25")),
            Some(0.25)
        );
        for none in ["", "Crawl-delay: 1", "User-agent: *\nCrawl-delay: -1", "User-agent: *\nCrawl-delay: x"]
        {
            assert_eq!(seconds(none), None, "{none}");
        }
    }

    #[test]
    fn o835_a_sitemap_with_a_blank_or_a_letter_that_no_uri_has_is_found() {
        let text = "Sitemap: http://example.com/my list.xml\nSitemap: /\u{e4}.xml\n";
        let found = from_robots(text, &"http://example.com/robots.txt".parse().unwrap());
        let found: Vec<_> = found.iter().map(|uri| uri.as_str()).collect();
        assert_eq!(found, ["http://example.com/my%20list.xml", "http://example.com/%C3%A4.xml"]);
    }

    #[test]
    fn disc_5_sitemap_lines_are_found_anywhere_in_any_case() {
        let text = "\u{feff}SITEMAP:http://example.com/a.xml\r\nUser-agent: *\n Disallow: /x\r sitemap : /b.xml # set b\n\
                    Sitemap: http://example.com/a.xml\nSitemap:\nSitemaps: http://example.com/no.xml\n# Sitemap: /no\n";
        let found = from_robots(text, &"http://example.com/robots.txt".parse().unwrap());
        let found: Vec<_> = found.iter().map(|uri| uri.as_str()).collect();
        assert_eq!(found, ["http://example.com/a.xml", "http://example.com/b.xml"]);
    }
}
