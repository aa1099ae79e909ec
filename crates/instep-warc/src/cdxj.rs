//! Lines of a CDXJ index: a sortable URI, a time, and the place of the record.

/// One capture of a URI.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct CdxjLine(Box<str>);

impl CdxjLine {
    /// Returns the line of a record. `date` is that of the record, `2026-01-31T12:00:00Z`; `status` is that of HTTP,
    /// and empty if the record has none.
    pub fn new(
        uri: &str,
        date: &str,
        mime: &str,
        status: &str,
        digest: &str,
        place: (&str, u64, u64),
    ) -> Self {
        let (file, offset, length) = place;
        let mut line = Vec::with_capacity(2 * uri.len() + file.len() + mime.len() + 192);
        line.extend_from_slice(surt(uri).as_bytes());
        line.push(b' ');
        line.extend(date.bytes().filter(u8::is_ascii_digit).take(14));
        // Numbers are texts here, as all writers of such indexes have them. Each field is written on its own: an object
        // of all costs more than the rest of a record.
        let (length, offset) = (length.to_string(), offset.to_string());
        let fields = [
            ("url", uri),
            ("mime", mime),
            ("status", status),
            ("digest", digest),
            ("length", &length),
            ("offset", &offset),
            ("filename", file),
        ];
        let mut between: &[u8] = b" {";
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            line.extend_from_slice(between);
            line.push(b'"');
            line.extend_from_slice(name.as_bytes());
            line.extend_from_slice(b"\":");
            // Writing a text to memory does not fail.
            let _ = serde_json::to_writer(&mut line, value);
            between = b",";
        }
        line.push(b'}');
        let lossy =
            |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
        Self(String::from_utf8(line).unwrap_or_else(lossy).into())
    }

    /// Reads a line of an index; `None` if it is not one.
    pub fn parse(line: &str) -> Option<Self> {
        let (_, fields) = line.split_once(" {")?;
        let line = line.trim_end();
        (fields.contains("\"filename\"") && line.ends_with('}')).then(|| Self(line.into()))
    }

    /// Returns the line without its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its fields; `None` if they cannot be read.
    pub fn fields(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        let start = self.0.find(" {")?;
        serde_json::from_str(&self.0[start..]).ok()
    }
}

/// Returns a URI in the form by which indexes are sorted: the labels of the host from the right, without `www`, then path
/// and query in lower case, the parameters in order.
///
/// ```
/// assert_eq!(instep_warc::surt("http://www.Example.org:80/A/?b=2&a=1#x"), "org,example)/a?a=1&b=2");
/// ```
pub fn surt(uri: &str) -> String {
    let uri = uri.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.to_ascii_lowercase() };
    let split = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(split);
    let authority = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (&*authority, ""),
    };
    let host = match host.split_once('.') {
        Some((first, rest))
            if first.strip_prefix("www").is_some_and(|n| n.bytes().all(|byte| byte.is_ascii_digit())) =>
        {
            rest
        }
        _ => host,
    };
    let is_address = host.starts_with('[') || host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let mut labels: Vec<&str> = if is_address { vec![host] } else { host.split('.').collect() };
    labels.reverse();
    let is_usual = port.is_empty() || matches!((scheme, port), ("http", "80") | ("https", "443"));
    let port = if is_usual { String::new() } else { format!(":{port}") };
    let path = path.to_ascii_lowercase();
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { "/" };
    let mut parameters: Vec<&str> = query.split('&').filter(|parameter| !parameter.is_empty()).collect();
    parameters.sort_unstable();
    let query = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
    format!("{}{port}){path}{query}", labels.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_sorts_by_its_host_from_the_right() {
        for (uri, sorted) in [
            ("https://example.org", "org,example)/"),
            ("http://a.example.org:8080/x/", "org,example,a:8080)/x"),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080)/"),
            ("http://wwwx.example.org/?b", "org,example,wwwx)/?b"),
            ("https://user@www2.example.org:443/É", "org,example)/É"),
            ("urn:x:Y", "urn:x:y"),
        ] {
            assert_eq!(surt(uri), sorted);
        }
    }

    #[test]
    fn a_line_reads_back() {
        let line = CdxjLine::new(
            "http://e.org/a b",
            "2026-01-31T12:00:00Z",
            "text/plain",
            "200",
            "sha1:X",
            ("f.warc.gz", 7, 9),
        );
        assert!(
            line.as_str().starts_with("org,e)/a b 20260131120000 {\"url\":\"http://e.org/a b\","),
            "{line:?}"
        );
        assert_eq!(CdxjLine::parse(&format!("{}\n", line.as_str())), Some(line.clone()));
        let fields = line.fields().unwrap();
        assert_eq!(fields.get("offset").and_then(|offset| offset.as_str()), Some("7"));
        assert_eq!(fields.get("none"), None);
        assert_eq!(CdxjLine::parse("!meta {\"format\": 1}"), None);
    }
}
