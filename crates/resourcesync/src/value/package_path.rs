use std::fmt;

/// Where a bitstream lies in its package: the `path` attribute (ATT-17), kept as written.
///
/// It never becomes a file name: [`PackagePath::member`] is only looked up among the members of a package (ZIP-5, ZIP-7).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePath(Box<str>);

/// Why a path cannot name a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackagePathError {
    /// A segment is `..`, or the path is a drive or has a backslash.
    #[error("The path leads out of the package")]
    Outside,
    /// Nothing is left after the leading slash, or a control character is in it.
    #[error("The path names no member")]
    Unusable,
}

impl PackagePath {
    /// Takes the text as it is.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The attribute's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is written as §7 says: with a leading slash, and not ending in one (ATT-17).
    pub fn is_as_specified(&self) -> bool {
        self.0.starts_with('/') && !self.0.ends_with('/') && self.member().is_ok()
    }

    /// The name of the member: leading `/` and `./` are dropped (ZIP-5).
    ///
    /// # Errors
    /// When the path leads outside the package or names nothing.
    pub fn member(&self) -> Result<&str, PackagePathError> {
        let mut rest = &*self.0;
        while let Some(shorter) = rest.strip_prefix('/').or_else(|| rest.strip_prefix("./")) {
            rest = shorter;
        }
        if rest.is_empty() || rest.chars().any(char::is_control) {
            return Err(PackagePathError::Unusable);
        }
        let drive = rest.as_bytes().get(1) == Some(&b':') && rest.as_bytes()[0].is_ascii_alphabetic();
        if drive || rest.contains('\\') || rest.split('/').any(|segment| segment == "..") {
            return Err(PackagePathError::Outside);
        }
        Ok(rest)
    }
}

impl fmt::Display for PackagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
