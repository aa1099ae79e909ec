//! The error of values that have no specific error.

/// A text that is not a value of the requested kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
#[non_exhaustive]
pub struct ValueError {
    /// The text.
    pub text: String,
    /// The kind of value that was expected, with its article.
    pub expected: &'static str,
}

impl ValueError {
    pub(crate) fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }
}
