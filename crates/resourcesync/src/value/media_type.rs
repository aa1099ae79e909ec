//! The `type` attribute.

use std::{fmt, str::FromStr, sync::Arc};

use super::ValueError;

/// A media type: the `type` attribute (ATT-18), kept as written.
///
/// Clones share one text, because lists repeat few media types.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MediaType(Arc<str>);

impl MediaType {
    /// Takes any text; [`MediaType::is_valid`] judges it.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the attribute's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `type/subtype` without parameters.
    pub fn essence(&self) -> &str {
        self.0.split(';').next().unwrap_or_default().trim_end()
    }

    /// Returns `true` if both have the same essence; case does not matter (RFC 6838 §4.2).
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.essence().eq_ignore_ascii_case(other.essence())
    }

    /// Returns `true` if the essence is `type/subtype` by RFC 6838 §4.2. Parameters are not judged.
    pub fn is_valid(&self) -> bool {
        let name = |text: &str| {
            (1..=127).contains(&text.len())
                && text.starts_with(|first: char| first.is_ascii_alphanumeric())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
        };
        self.essence().split_once('/').is_some_and(|(kind, subtype)| name(kind) && name(subtype))
    }
}

impl FromStr for MediaType {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Some(Self::new(text))
            .filter(Self::is_valid)
            .ok_or_else(|| ValueError::new(text, "a media type of the form type/subtype"))
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
