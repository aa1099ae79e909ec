//! The body of a batch request.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::dump::BatchLimits;

/// The request of a client.
#[derive(Debug, PartialEq)]
pub(super) enum BatchBody {
    /// The resources with these URIs.
    Resources(Vec<String>),
    /// More resources than a batch can have; their URIs are not kept.
    TooMany,
    /// The resources that changed since a time.
    Since(String),
}

impl<'de> Deserialize<'de> for BatchBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor)
    }
}

/// Reads a body of any form without more memory than its text takes: a derived enum would first keep each value of it,
/// and four megabytes of empty strings are a million values.
struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = BatchBody;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of URIs, or an object with since")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<BatchBody, A::Error> {
        let most = BatchLimits::default().resources;
        let mut uris = Vec::new();
        while let Some(uri) = items.next_element()? {
            if uris.len() == most {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(BatchBody::TooMany);
            }
            uris.push(uri);
        }
        Ok(BatchBody::Resources(uris))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<BatchBody, A::Error> {
        let mut since = None;
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                "since" => since = Some(fields.next_value()?),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        since.map(BatchBody::Since).ok_or_else(|| A::Error::missing_field("since"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_no_more_uris_are_kept_than_a_batch_can_have() {
        let read = |text: &str| serde_json::from_str::<BatchBody>(text).ok();
        assert_eq!(read(r#"["a","b"]"#), Some(BatchBody::Resources(vec!["a".into(), "b".into()])));
        assert_eq!(read(r#"{"other":[1],"since":"2026"}"#), Some(BatchBody::Since("2026".into())));
        let many = |count| format!("[{}]", vec!["\"\""; count].join(","));
        assert!(matches!(read(&many(10_000)), Some(BatchBody::Resources(_))));
        assert_eq!(read(&many(10_001)), Some(BatchBody::TooMany));
        for wrong in ["{}", "[1]", "1", "\"a\"", "[\"a\"", "{\"since\":1}"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
