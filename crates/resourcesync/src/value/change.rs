//! The `change` attribute and the `changefreq` element.

use std::{convert::Infallible, fmt, str::FromStr};

use super::ValueError;

/// The type of a change: the `change` attribute (ATT-8).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The resource is new.
    Created,
    /// The resource has a new state.
    Updated,
    /// The resource no longer exists.
    Deleted,
    /// A value other than the three of the standard; kept as written.
    Other(Box<str>),
}

impl Change {
    /// Reads the attribute's value.
    pub fn parse(text: &str) -> Self {
        match text {
            "created" => Self::Created,
            "updated" => Self::Updated,
            "deleted" => Self::Deleted,
            other => Self::Other(other.into()),
        }
    }

    /// Returns the attribute's value.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
            Self::Other(text) => text,
        }
    }
}

impl FromStr for Change {
    type Err = Infallible;

    /// Reads any text: one that is not known here is kept as written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The expected frequency of changes: the `changefreq` element (GEN-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChangeFreq {
    /// At each access.
    Always,
    /// Hourly.
    Hourly,
    /// Daily.
    Daily,
    /// Weekly.
    Weekly,
    /// Monthly.
    Monthly,
    /// Yearly.
    Yearly,
    /// Never again: the resource is archived (GEN-17).
    Never,
}

impl ChangeFreq {
    /// Reads the element's text; `None` if it is not a value of the Sitemap protocol.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "always" => Self::Always,
            "hourly" => Self::Hourly,
            "daily" => Self::Daily,
            "weekly" => Self::Weekly,
            "monthly" => Self::Monthly,
            "yearly" => Self::Yearly,
            "never" => Self::Never,
            _ => return None,
        })
    }

    /// Returns the element's text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
            Self::Never => "never",
        }
    }
}

impl FromStr for ChangeFreq {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).ok_or_else(|| ValueError::new(text, "a frequency of the Sitemap protocol"))
    }
}

impl fmt::Display for ChangeFreq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
