//! The `path` attribute.

use std::{fmt, str::FromStr};

use super::ValueError;

/// The place of a bitstream in its package: the `path` attribute (ATT-17), kept as written.
///
/// It never becomes a file name: [`PackagePath::member`] only finds members of a package (ZIP-5, ZIP-7).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePath(Box<str>);

impl PackagePath {
    /// Takes any text; [`PackagePath::member`] judges it.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the attribute's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if the path is written as in §7: it begins with a slash and does not end in one (ATT-17).
    pub fn is_as_specified(&self) -> bool {
        self.0.starts_with('/') && !self.0.ends_with('/') && self.member().is_ok()
    }

    /// Returns the name of the member: the path without leading `/` and `./` (ZIP-5).
    ///
    /// # Errors
    /// If the path leads outside the package or names nothing.
    pub fn member(&self) -> Result<&str, ValueError> {
        let mut rest = &*self.0;
        while let Some(shorter) = rest.strip_prefix('/').or_else(|| rest.strip_prefix("./")) {
            rest = shorter;
        }
        if rest.is_empty() || rest.chars().any(char::is_control) {
            return Err(ValueError::new(&self.0, "the name of a member"));
        }
        let drive = rest.as_bytes().get(1) == Some(&b':') && rest.as_bytes()[0].is_ascii_alphabetic();
        if drive || rest.contains('\\') || rest.split('/').any(|segment| segment == "..") {
            return Err(ValueError::new(&self.0, "a path that stays in the package"));
        }
        Ok(rest)
    }
}

impl FromStr for PackagePath {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = Self::new(text);
        path.member()?;
        Ok(path)
    }
}

impl fmt::Display for PackagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
