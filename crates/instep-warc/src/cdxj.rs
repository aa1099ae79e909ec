//! Lines of a CDXJ index: a sortable URI, a time, and the place of the record.

/// One capture of a URI.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct CdxjLine(Box<str>);

/// The fields of a record that a line of an index repeats. A field that the record does not have is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureFields<'a> {
    /// The URI.
    pub uri: &'a str,
    /// The time as the record has it: `2026-01-31T12:00:00Z`.
    pub date: &'a str,
    /// The media type.
    pub mime: &'a str,
    /// The status of HTTP.
    pub status: &'a str,
    /// The digest of the payload.
    pub digest: &'a str,
}

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace<'a> {
    /// The name of its file, or the key of its object.
    pub file: &'a str,
    /// The position of its first byte there.
    pub offset: u64,
    /// The number of its bytes there.
    pub length: u64,
}

impl CdxjLine {
    /// Returns the line of a record.
    pub fn new(fields: CaptureFields<'_>, place: RecordPlace<'_>) -> Self {
        let CaptureFields { uri, date, mime, status, digest } = fields;
        let RecordPlace { file, offset, length } = place;
        let mut line = String::with_capacity(2 * uri.len() + file.len() + mime.len() + 192);
        append_surt(uri, &mut line);
        line.push(' ');
        line.extend(date.chars().filter(char::is_ascii_digit).take(14));
        // Numbers are written as JSON strings, as other programs write them in such indexes. Fields are appended one by
        // one, because building a JSON object takes longer than all other work for a record.
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
        let mut between = " {\"";
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            for part in [between, name, "\":"] {
                line.push_str(part);
            }
            append_text(value, &mut line);
            between = ",\"";
        }
        line.push('}');
        // Copied into a text of its exact size. Shrinking the larger one would leave a gap in memory after each line.
        Self(line.as_str().into())
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
    let mut sorted = String::with_capacity(uri.len() + 2);
    append_surt(uri, &mut sorted);
    sorted
}

/// Appends a URI in the form of [`surt`]: an archive has a line for each of its records.
fn append_surt(uri: &str, line: &mut String) {
    let uri = uri.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = uri.split_once("://") else { return append_lower(uri, line) };
    let split = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(split);
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (authority, ""),
    };
    let host = match host.split_once('.') {
        Some((first, rest)) if is_www(first) => rest,
        _ => host,
    };
    let is_address = host.starts_with('[') || host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_address {
        append_lower(host, line);
    } else {
        for (place, label) in host.rsplit('.').enumerate() {
            line.push_str(if place > 0 { "," } else { "" });
            append_lower(label, line);
        }
    }
    let is_usual = port.is_empty() || matches!((scheme, port), ("http", "80") | ("https", "443"));
    if !is_usual {
        line.push(':');
        line.push_str(port);
    }
    line.push(')');
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    append_lower(if path.len() > 1 { path.trim_end_matches('/') } else { "/" }, line);
    let query = query.to_ascii_lowercase();
    let mut parameters: Vec<&str> = query.split('&').filter(|parameter| !parameter.is_empty()).collect();
    parameters.sort_unstable();
    for (place, parameter) in parameters.into_iter().enumerate() {
        line.push(if place > 0 { '&' } else { '?' });
        line.push_str(parameter);
    }
}

/// Returns `true` for `www`, also with a number.
fn is_www(label: &str) -> bool {
    let head = label.get(..3).is_some_and(|head| head.eq_ignore_ascii_case("www"));
    head && label[3..].bytes().all(|byte| byte.is_ascii_digit())
}

fn append_lower(text: &str, line: &mut String) {
    let begin = line.len();
    line.push_str(text);
    line[begin..].make_ascii_lowercase();
}

/// Appends a text as JSON has it.
fn append_text(text: &str, line: &mut String) {
    // `|` instead of a search that stops at the first match, so that the compiler can compare many bytes at once.
    let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    if text.bytes().fold(false, |any, byte| any | is_special(byte)) {
        line.push_str(&serde_json::Value::from(text).to_string());
    } else {
        line.push('"');
        line.push_str(text);
        line.push('"');
    }
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
        let fields = CaptureFields {
            uri: "http://e.org/a b",
            date: "2026-01-31T12:00:00Z",
            mime: "text/plain",
            status: "200",
            digest: "sha1:X",
        };
        let place = RecordPlace { file: "f.warc.gz", offset: 7, length: 9 };
        let line = CdxjLine::new(fields, place);
        assert!(
            line.as_str().starts_with("org,e)/a b 20260131120000 {\"url\":\"http://e.org/a b\","),
            "{line:?}"
        );
        assert_eq!(CdxjLine::parse(&format!("{}\n", line.as_str())), Some(line.clone()));
        let read = line.fields().unwrap();
        assert_eq!(read.get("offset").and_then(|offset| offset.as_str()), Some("7"));
        assert_eq!(read.get("none"), None);
        assert_eq!(CdxjLine::parse("!meta {\"format\": 1}"), None);
        let escaped = CdxjLine::new(CaptureFields { mime: "a\"\\\t", ..fields }, place);
        assert_eq!(escaped.fields().unwrap().get("mime").and_then(|mime| mime.as_str()), Some("a\"\\\t"));
    }
}
