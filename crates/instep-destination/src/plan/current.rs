//! Fixity: compares held bytes with the metadata of an entry.
//!
//! An equal digest decides first, otherwise length and time if both sides have them, otherwise a conditional request.
//! A resource without any metadata is requested conditionally in each run, not fetched again each time.

use resourcesync::{DateTime, Digests, Entry, value::Precision};

use super::ResourceMetadata;

/// The knowledge that one side has of the bytes of a resource: digests, length and time of last modification.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixity<'a> {
    /// The digests that are known.
    pub digests: &'a Digests,
    /// The number of bytes.
    pub length: Option<u64>,
    /// The Source's time of last modification.
    pub lastmod: Option<&'a DateTime>,
}

impl<'a> Fixity<'a> {
    /// Returns the fixity of a held or a desired state.
    pub(crate) fn of_metadata(metadata: &'a ResourceMetadata) -> Self {
        Self { digests: &metadata.digests, length: metadata.length, lastmod: metadata.lastmod.as_ref() }
    }

    /// Returns the fixity of an entry.
    pub(crate) fn of_entry(entry: &'a Entry) -> Self {
        let metadata = &entry.metadata;
        Self { digests: &metadata.hash, length: metadata.length, lastmod: entry.lastmod.as_ref() }
    }
}

/// The result of comparing a held resource with the Source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Currency {
    /// The held bytes are those of the Source: equal digests, or equal length and time, or an equal time of at least seconds.
    Current,
    /// A digest, a length or a time shows that the held bytes are those of another state.
    Stale,
    /// The documents do not show it, so a conditional request is sent.
    Unknown,
}

/// Compares two sides. An equal digest decides first; otherwise length and time, if both sides have them (AMB-B30);
/// otherwise only the Source can answer. A time must have seconds: a resource may change twice in a day (O6).
pub(crate) fn currency(held: Fixity<'_>, remote: Fixity<'_>) -> Currency {
    // The digest decides first, because a server may touch a file without changing it, or change it and restore the old
    // time.
    if let Some(same) = held.digests.agrees_with(remote.digests) {
        return if same { Currency::Current } else { Currency::Stale };
    }
    // Different lengths prove a change, while equal lengths prove nothing.
    if matches!((held.length, remote.length), (Some(held), Some(remote)) if held != remote) {
        return Currency::Stale;
    }
    match (held.lastmod, remote.lastmod) {
        (Some(held_time), Some(remote_time)) if held_time.overlaps(remote_time) => {
            let has_seconds = is_within_a_second(held_time) && is_within_a_second(remote_time);
            let is_precise = has_seconds || held.length.is_some() && held.length == remote.length;
            if is_precise { Currency::Current } else { Currency::Unknown }
        }
        (Some(_), Some(_)) => Currency::Stale,
        _ => Currency::Unknown,
    }
}

/// Returns `true` if both sides have digests, but of different algorithms. The held bytes are then hashed by the algorithm
/// of the Source, because an equal length and time prove less than its digest (O643).
pub(crate) fn share_no_algorithm(one: &Digests, other: &Digests) -> bool {
    one.strongest().is_some() && other.strongest().is_some() && one.agrees_with(other).is_none()
}

/// Returns `true` if the bytes that were sent at a time may be replaced by others of the same last modification,
/// because its day or second was not over (O22). `sent` is `None` if that time is unknown. A last modification with
/// fractions of a second is assumed to be that of one change.
pub(crate) fn may_hide_changes(lastmod: Option<&DateTime>, sent: Option<DateTime>) -> bool {
    lastmod.is_some_and(|time| {
        time.precision() <= Precision::Second && sent.is_none_or(|sent| sent.instant() < time.end())
    })
}

/// Returns `true` if a time is written with seconds or more precisely.
fn is_within_a_second(time: &DateTime) -> bool {
    time.end().0 - time.instant().0 <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(text: &str) -> Digests {
        Digests::parse(text, |error| panic!("{error}"))
    }

    fn time(text: &str) -> DateTime {
        DateTime::parse(text).unwrap()
    }

    #[test]
    fn o22_a_time_that_was_not_over_when_the_bytes_were_sent_may_be_that_of_later_ones() {
        let sent = Some(time("2013-01-02T10:00:05Z"));
        for (lastmod, expected) in [
            ("2013-01-02T10:00:04Z", false),
            ("2013-01-02T10:00:05Z", true),
            ("2013-01-02T10:00:05.2Z", false),
            ("2013-01-02T11:00:05+01:00", true),
            ("2013-01-02T10:00Z", true),
            ("2013-01-02", true),
            ("2013-01-01", false),
        ] {
            assert_eq!(may_hide_changes(Some(&time(lastmod)), sent), expected, "{lastmod}");
            assert_eq!(may_hide_changes(Some(&time(lastmod)), None), lastmod.len() != 22, "{lastmod}");
        }
        assert!(!may_hide_changes(None, sent));
    }

    #[test]
    fn an_equal_digest_beats_a_differing_time() {
        let md5 = digests("md5:1584abdf8ebdc9802ac0c6a7402c03b6");
        let (old, new) = (time("2013-01-02T00:00:00Z"), time("2013-01-03T00:00:00Z"));
        let held = Fixity { digests: &md5, length: Some(7), lastmod: Some(&old) };
        let remote = Fixity { digests: &md5, length: Some(8), lastmod: Some(&new) };
        assert_eq!(currency(held, remote), Currency::Current);
    }

    #[test]
    fn only_what_both_sides_have_is_compared() {
        let (none, day) = (Digests::new(), time("2013-01-02"));
        let instant = time("2013-01-02T10:00:00Z");
        let held = Fixity { digests: &none, length: Some(7), lastmod: Some(&instant) };
        let cases = [
            (Some(7), Some(&instant), Currency::Current),
            (None, Some(&instant), Currency::Current),
            (Some(7), Some(&day), Currency::Current),
            (Some(8), Some(&instant), Currency::Stale),
            (Some(8), None, Currency::Stale),
            (Some(7), None, Currency::Unknown),
            (None, None, Currency::Unknown),
        ];
        for (length, lastmod, expected) in cases {
            let remote = Fixity { digests: &none, length, lastmod };
            assert_eq!(currency(held, remote), expected, "{remote:?}");
        }
    }

    #[test]
    fn o6_an_equal_day_alone_does_not_make_it_current() {
        let (md5, none) = (digests("md5:1584abdf8ebdc9802ac0c6a7402c03b6"), Digests::new());
        let sha256 = digests(&format!("sha-256:{}", "0".repeat(64)));
        let (instant, second) = (time("2013-01-02T10:00:00.5Z"), time("2013-01-02T10:00:00Z"));
        let cases = [
            ("2013", Currency::Unknown),
            ("2013-01-02", Currency::Unknown),
            ("2013-01-02T10:00Z", Currency::Unknown),
            ("2013-01-02T10:00:00Z", Currency::Current),
            ("2013-01-01", Currency::Stale),
        ];
        for (text, expected) in cases {
            let remote = time(text);
            let remote = Fixity { digests: &md5, length: None, lastmod: Some(&remote) };
            for held in [&instant, &second] {
                let held = Fixity { digests: &sha256, length: Some(7), lastmod: Some(held) };
                assert_eq!(currency(held, remote), expected, "{text}");
                let held = Fixity { digests: &none, ..held };
                assert_eq!(currency(held, remote), expected, "{text}");
            }
        }
    }

    #[test]
    fn o643_digests_of_different_algorithms_share_none() {
        let (md5, none) = (digests("md5:1584abdf8ebdc9802ac0c6a7402c03b6"), Digests::new());
        let sha256 = digests(&format!("sha-256:{}", "0".repeat(64)));
        let both = digests(&format!("md5:1584abdf8ebdc9802ac0c6a7402c03b6 sha-256:{}", "0".repeat(64)));
        assert!(share_no_algorithm(&md5, &sha256));
        assert!(!share_no_algorithm(&md5, &both) && !share_no_algorithm(&both, &sha256));
        assert!(!share_no_algorithm(&md5, &none) && !share_no_algorithm(&none, &sha256));
    }

    #[test]
    fn a_time_on_one_side_only_does_not_make_it_stale() {
        let (none, instant) = (Digests::new(), time("2013-01-02T10:00:00Z"));
        let held = Fixity { digests: &none, length: Some(7), lastmod: None };
        let remote = Fixity { digests: &none, length: Some(7), lastmod: Some(&instant) };
        assert_eq!(currency(held, remote), Currency::Unknown);
    }
}
