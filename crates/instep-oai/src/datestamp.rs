//! Datestamps and their granularity (OAI-PMH §3.3). PURE.

use resourcesync::DateTime;

/// The finest datestamp that a repository supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Granularity {
    /// `YYYY-MM-DD`, which each repository takes.
    #[default]
    Day,
    /// `YYYY-MM-DDThh:mm:ssZ`.
    Second,
}

impl Granularity {
    /// Reads the text of `Identify`; repositories write it in more ways than the protocol has.
    pub(crate) fn parse(text: &str) -> Self {
        if text.to_ascii_lowercase().contains("hh:mm:ss") { Self::Second } else { Self::Day }
    }

    /// Returns the text of `Identify`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Day => "YYYY-MM-DD",
            Self::Second => "YYYY-MM-DDThh:mm:ssZ",
        }
    }

    /// Returns the first second of the day or second of a time in seconds since 1970.
    pub(crate) fn rounded_down(self, seconds: i64) -> i64 {
        match self {
            Self::Day => seconds - seconds.rem_euclid(86_400),
            Self::Second => seconds,
        }
    }

    /// Writes a time in seconds since 1970, rounded down.
    pub(crate) fn write(self, seconds: i64) -> String {
        let mut text = DateTime::from_unix_seconds(seconds).to_string();
        if self == Self::Day {
            text.truncate("YYYY-MM-DD".len());
        }
        text
    }
}

/// Returns a datestamp in seconds since 1970; `None` if it is invalid. Repositories leave out zones and write blanks
/// and fractions.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let read = |text: &str| DateTime::parse(text).ok().map(|time| time.instant().0);
    read(text).or_else(|| read(&text.replacen(' ', "T", 1))).or_else(|| {
        let with_zone = format!("{}Z", text.replacen(' ', "T", 1));
        read(&with_zone)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datestamps_are_read_as_repositories_write_them() {
        let noon = 1_767_268_800;
        for (text, expected) in [
            ("2026-01-01T12:00:00Z", Some(noon)),
            (" 2026-01-01T12:00:00.5Z ", Some(noon)),
            ("2026-01-01T12:00:00", Some(noon)),
            ("2026-01-01 12:00:00", Some(noon)),
            ("2026-01-01T13:00:00+01:00", Some(noon)),
            ("2026-01-01", Some(noon - 12 * 3600)),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), expected, "{text:?}");
        }
        assert_eq!(Granularity::parse("YYYY-MM-DDThh:mm:ssZ").write(noon), "2026-01-01T12:00:00Z");
        assert_eq!(Granularity::parse("YYYY-MM-DD").write(noon), "2026-01-01");
        assert_eq!(Granularity::Day.rounded_down(noon), noon - 12 * 3600);
        assert_eq!(Granularity::Second.rounded_down(noon), noon);
    }
}
