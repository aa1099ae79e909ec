use std::fmt;

/// What happened to a resource: the `change` attribute (ATT-8).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The resource came into being.
    Created,
    /// The resource has a new state.
    Updated,
    /// The resource is gone.
    Deleted,
    /// Not one of the three values of the standard; kept as written (AMB-B14).
    Other(Box<str>),
}

impl Change {
    /// The value as the attribute has it.
    pub fn parse(text: &str) -> Self {
        match text {
            "created" => Self::Created,
            "updated" => Self::Updated,
            "deleted" => Self::Deleted,
            other => Self::Other(other.into()),
        }
    }

    /// The attribute's value.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
            Self::Other(text) => text,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How often a resource is expected to change: the `changefreq` element (GEN-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChangeFreq {
    /// Changes at each access.
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
    /// Archived.
    Never,
}

impl ChangeFreq {
    /// The value as the element has it; none for anything that the Sitemap protocol does not know.
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

    /// The element's text.
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

impl fmt::Display for ChangeFreq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
