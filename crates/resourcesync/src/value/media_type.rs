use std::{fmt, sync::Arc};

/// A media type: the `type` attribute (ATT-18), kept as written. Cloning is cheap: lists repeat few of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MediaType(Arc<str>);

impl MediaType {
    /// Takes the text as it is; [`MediaType::is_valid`] judges it.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The attribute's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `type/subtype` without parameters.
    pub fn essence(&self) -> &str {
        self.0.split(';').next().unwrap_or_default().trim_end()
    }

    /// Whether the essence is `type/subtype` by RFC 6838 §4.2; parameters are tolerated.
    pub fn is_valid(&self) -> bool {
        let name = |text: &str| {
            (1..=127).contains(&text.len())
                && text.starts_with(|first: char| first.is_ascii_alphanumeric())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
        };
        self.essence().split_once('/').is_some_and(|(kind, subtype)| name(kind) && name(subtype))
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
