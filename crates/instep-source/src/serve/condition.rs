//! Preconditions of a request (RFC 9110 §13). PURE.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, header};

/// The validators of a representation, its entity tag and modification time (RFC 9110 §8.8).
#[derive(Clone, Debug)]
pub(crate) struct RepresentationValidators {
    /// A strong ETag, with its quotes.
    pub etag: HeaderValue,
    /// The time of last modification, in seconds since 1970.
    pub modified: u64,
}

/// The result of the preconditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// Answer as if there were no condition.
    Proceed,
    /// Answer 304: the client has the current state.
    NotModified,
    /// Answer 412: a precondition does not hold.
    Failed,
}

/// Evaluates the preconditions of a GET or HEAD in the order of RFC 9110 §13.2.2.
pub(crate) fn outcome(headers: &HeaderMap, validators: &RepresentationValidators) -> Precondition {
    if headers.contains_key(header::IF_MATCH) {
        if !names(headers, header::IF_MATCH, &validators.etag, Comparison::Strong) {
            return Precondition::Failed;
        }
    } else if date(headers, header::IF_UNMODIFIED_SINCE).is_some_and(|limit| validators.modified > limit) {
        return Precondition::Failed;
    }
    let is_known = if headers.contains_key(header::IF_NONE_MATCH) {
        names(headers, header::IF_NONE_MATCH, &validators.etag, Comparison::Weak)
    } else {
        date(headers, header::IF_MODIFIED_SINCE).is_some_and(|limit| validators.modified <= limit)
    };
    if is_known { Precondition::NotModified } else { Precondition::Proceed }
}

/// Returns `true` if a `Range` may be answered: without `If-Range`, or if it names this very representation (§13.1.5).
pub(crate) fn range_applies(headers: &HeaderMap, validators: &RepresentationValidators) -> bool {
    match headers.get(header::IF_RANGE) {
        None => true,
        Some(tag) if tag.as_bytes().starts_with(b"\"") => tag == validators.etag,
        Some(_) => date(headers, header::IF_RANGE) == Some(validators.modified),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Strong,
    Weak,
}

/// Returns `true` if a list of entity tags names this one, or is `*`.
fn names(headers: &HeaderMap, name: header::HeaderName, etag: &HeaderValue, comparison: Comparison) -> bool {
    headers.get_all(name).iter().any(|list| {
        let list = list.as_bytes().trim_ascii();
        list == b"*"
            || tags(list)
                .any(|(is_weak, tag)| tag == etag.as_bytes() && (comparison == Comparison::Weak || !is_weak))
    })
}

/// Returns the tags of a list, with their quotes; tags may contain commas.
fn tags(mut list: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    std::iter::from_fn(move || {
        let opening = list.iter().position(|byte| *byte == b'"')?;
        let length = list[opening + 1..].iter().position(|byte| *byte == b'"')? + 2;
        let is_weak = list[..opening].ends_with(b"W/");
        let tag = &list[opening..opening + length];
        list = &list[opening + length..];
        Some((is_weak, tag))
    })
}

/// Returns a date in seconds since 1970; one that is not a date counts as absent (§13.1.3).
fn date(headers: &HeaderMap, name: header::HeaderName) -> Option<u64> {
    let date = httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()?;
    date.duration_since(SystemTime::UNIX_EPOCH).ok().as_ref().map(Duration::as_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn validators() -> RepresentationValidators {
        RepresentationValidators { etag: HeaderValue::from_static("\"a\""), modified: 784_111_777 }
    }

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn preconditions_in_their_order() {
        use Precondition::{Failed, NotModified, Proceed};
        use header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};
        let table: &[(&[(header::HeaderName, &'static str)], Precondition)] = &[
            (&[], Proceed),
            (&[(IF_NONE_MATCH, "\"a\"")], NotModified),
            (&[(IF_NONE_MATCH, "W/\"a\"")], NotModified),
            (&[(IF_NONE_MATCH, "\"b\", \"x,y\", \"a\"")], NotModified),
            (&[(IF_NONE_MATCH, "*")], NotModified),
            (&[(IF_NONE_MATCH, "\"b\"")], Proceed),
            (&[(IF_NONE_MATCH, "\"b\""), (IF_MODIFIED_SINCE, AFTER)], Proceed),
            (&[(IF_MODIFIED_SINCE, THEN)], NotModified),
            (&[(IF_MODIFIED_SINCE, AFTER)], NotModified),
            (&[(IF_MODIFIED_SINCE, BEFORE)], Proceed),
            (&[(IF_MODIFIED_SINCE, "yesterday")], Proceed),
            (&[(IF_MATCH, "\"a\"")], Proceed),
            (&[(IF_MATCH, "*")], Proceed),
            (&[(IF_MATCH, "W/\"a\"")], Failed),
            (&[(IF_MATCH, "\"b\"")], Failed),
            (&[(IF_MATCH, "\"a\""), (IF_UNMODIFIED_SINCE, BEFORE)], Proceed),
            (&[(IF_UNMODIFIED_SINCE, BEFORE)], Failed),
            (&[(IF_UNMODIFIED_SINCE, THEN)], Proceed),
            (&[(IF_MATCH, "\"a\""), (IF_NONE_MATCH, "\"a\"")], NotModified),
        ];
        for (pairs, expected) in table {
            assert_eq!(outcome(&headers(pairs), &validators()), *expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_range_applies_to_the_same_representation_only() {
        for (value, applies) in [
            ("\"a\"", true),
            ("\"b\"", false),
            ("W/\"a\"", false),
            (THEN, true),
            (AFTER, false),
            ("x", false),
        ] {
            let headers = headers(&[(header::IF_RANGE, value)]);
            assert_eq!(range_applies(&headers, &validators()), applies, "{value}");
        }
        assert!(range_applies(&HeaderMap::new(), &validators()));
    }
}
