//! Validators of a representation (RFC 9110 §8.8).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The validators of a representation. They belong to the URI that it came from: sent to a mirror or another URI, an
/// equal tag is a coincidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validators {
    /// `ETag`, as it is written.
    pub etag: Option<Box<str>>,
    /// `Last-Modified`, as it is written.
    pub last_modified: Option<Box<str>>,
}

impl Validators {
    /// Returns validators that were kept from an earlier response.
    pub fn new(etag: Option<&str>, last_modified: Option<&str>) -> Self {
        Self { etag: etag.map(Into::into), last_modified: last_modified.map(Into::into) }
    }

    /// Removes validators that a later representation may share: a `Last-Modified` of the second in which the answer
    /// was made (RFC 9110 §8.8.2.2), or of an answer without `Date`, and an `ETag` that servers such as nginx derive
    /// from it.
    pub(crate) fn settled(mut self, modified: Option<SystemTime>, date: Option<SystemTime>) -> Self {
        let Some(modified) = modified else { return self };
        if date.is_some_and(|date| modified + Duration::from_secs(1) <= date) {
            return self;
        }
        self.last_modified = None;
        self.etag.take_if(|etag| is_made_of(etag, modified));
        self
    }

    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// Returns the ETag if it is a strong one, which promises equal bytes; `None` if it is weak or missing.
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.starts_with('"'))
    }
}

/// Returns `true` if a tag begins with the second of a time in hexadecimal digits, as those of nginx do.
fn is_made_of(etag: &str, modified: SystemTime) -> bool {
    let digits = etag.trim_start_matches("W/").trim_matches('"').split('-').next().unwrap_or_default();
    let second = modified.duration_since(UNIX_EPOCH).map(|since| since.as_secs());
    second.is_ok_and(|second| u64::from_str_radix(digits, 16) == Ok(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b26_validators_of_the_second_of_the_answer_are_none() {
        let second = |second: u64| Some(UNIX_EPOCH + Duration::from_secs(second));
        let settled = |etag: &str, date| {
            let kept = Validators::new(Some(etag), Some("Tue, 14 Nov 2023 22:13:20 GMT"))
                .settled(second(1_700_000_000), date);
            (kept.etag.is_some(), kept.last_modified.is_some())
        };
        assert_eq!(settled("\"6553f100-5\"", second(1_700_000_001)), (true, true));
        assert_eq!(settled("\"6553f100-5\"", second(1_700_000_000)), (false, false));
        assert_eq!(settled("W/\"6553f100-5\"", second(1_699_999_999)), (false, false));
        assert_eq!(settled("\"6553f100-5\"", None), (false, false));
        assert_eq!(settled("\"d41d8cd98f\"", second(1_700_000_000)), (true, false));
    }
}
