//! Paths with a `*`, by which rules find resources.

use crate::Error;

/// A path below the base URL, with at most one `*`, which matches any text, including slashes.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    before: String,
    /// The text after the `*`; without one the pattern is the path itself.
    after: Option<String>,
}

impl Pattern {
    /// Reads a pattern; `option` is the option that has it.
    ///
    /// # Errors
    /// If it has more than one `*`.
    pub(crate) fn new(option: &str, text: &str) -> Result<Self, Error> {
        let text = text.trim_start_matches('/');
        let (before, after) = match text.split_once('*') {
            Some((_, after)) if after.contains('*') => {
                return Err(Error::option(option, format!("{text:?} has more than one *")));
            }
            Some((before, after)) => (before, Some(after.to_owned())),
            None => (text, None),
        };
        Ok(Self { before: before.to_owned(), after })
    }

    /// Returns the text that the `*` matches; `None` if the path does not match.
    pub(crate) fn matches<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(&self.before)?;
        match &self.after {
            Some(after) => rest.strip_suffix(after.as_str()),
            None => Some(rest).filter(|rest| rest.is_empty()),
        }
    }
}
