//! An error and its causes as one line.

use std::error::Error;

/// Returns an error with its causes in one line: `Cannot write a: disk full`.
///
/// A cause that the text before it already ends with is left out: many libraries print their cause themselves.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::error_chain;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Failure {
        text: &'static str,
        source: Option<io::Error>,
    }

    #[test]
    fn each_cause_is_named_once() {
        let full = || Some(io::Error::other("disk full"));
        let failure = |text, source| error_chain(&Failure { text, source });
        assert_eq!(failure("Cannot write a", full()), "Cannot write a: disk full");
        assert_eq!(failure("Cannot write a: disk full", full()), "Cannot write a: disk full");
        assert_eq!(failure("Cannot write a", None), "Cannot write a");
    }
}
