//! `Sitemap:` lines of robots.txt (DISC-5).

use crate::value::Uri;

/// Returns the Sitemaps that a robots.txt names, all of them; Resource Lists may be among them (DISC-5). The directive
/// may be anywhere in the file, in any case; relative URIs are resolved against that of the file.
pub fn from_robots(text: &str, file: &Uri) -> Vec<Uri> {
    let lines = text.trim_start_matches('\u{feff}').split(['\n', '\r']);
    let value = |line: &str| {
        let (directive, value) = line.split_once(':')?;
        let value = value.split('#').next().unwrap_or_default().trim();
        let named = directive.trim().eq_ignore_ascii_case("sitemap") && !value.is_empty();
        named.then(|| file.resolve(value).ok()).flatten()
    };
    let mut found = Vec::new();
    for uri in lines.filter_map(value) {
        if !found.contains(&uri) {
            found.push(uri);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::from_robots;

    #[test]
    fn disc_5_sitemap_lines_are_found_anywhere_in_any_case() {
        let text = "\u{feff}SITEMAP:http://example.com/a.xml\r\nUser-agent: *\n Disallow: /x\r sitemap : /b.xml # set b\n\
                    Sitemap: http://example.com/a.xml\nSitemap:\nSitemaps: http://example.com/no.xml\n# Sitemap: /no\n";
        let found = from_robots(text, &"http://example.com/robots.txt".parse().unwrap());
        let found: Vec<_> = found.iter().map(|uri| uri.as_str()).collect();
        assert_eq!(found, ["http://example.com/a.xml", "http://example.com/b.xml"]);
    }
}
