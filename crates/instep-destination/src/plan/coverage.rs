//! Coverage: how much of the Source's state the documents that were read account for.

use std::fmt;

use resourcesync::DateTime;

use super::Reach;

/// The part of a Source's state that a copy accounts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coverage {
    /// Everything that the Source had at a time. `at` is `None` if the inventory has no time and no changes are
    /// listed.
    Complete {
        /// The time, by the Source's clock.
        at: Option<DateTime>,
    },
    /// Every change since a time. Changes between the inventory and that time may be missing.
    ChangesKnown {
        /// The time at which the listed changes begin.
        since: DateTime,
    },
    /// The listed resources. The documents do not show if others changed.
    #[default]
    Unknown,
}

impl Coverage {
    /// Returns the coverage after an inventory was read to its end, with the changes listed since then.
    pub fn of_inventory(at: Option<DateTime>, changes: Option<Reach>) -> Self {
        match changes {
            // Without Change Lists an inventory is all that the Source offers.
            None | Some(Reach::Covered) => Self::Complete { at },
            Some(Reach::Gap { earliest }) => Self::ChangesKnown { since: earliest },
            Some(Reach::Unknown) => Self::Unknown,
        }
    }

    /// Returns the coverage after changes were read on top of an earlier coverage: an existing gap stays until the
    /// next inventory.
    pub fn with_changes(self, changes: Reach, reached: Option<DateTime>) -> Self {
        match (self, changes) {
            (Self::Complete { at }, Reach::Covered) => Self::Complete { at: reached.or(at) },
            (Self::Complete { .. } | Self::ChangesKnown { .. }, Reach::Gap { earliest }) => {
                Self::ChangesKnown { since: earliest }
            }
            (Self::ChangesKnown { since }, Reach::Covered) => Self::ChangesKnown { since },
            (_, Reach::Unknown) | (Self::Unknown, _) => Self::Unknown,
        }
    }

    /// Returns `true` if nothing can be missing.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Complete { .. })
    }

    /// Returns the lesser coverage of two sets of resources.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::ChangesKnown { since }, Self::ChangesKnown { since: other }) => {
                Self::ChangesKnown { since: if other.instant() > since.instant() { other } else { since } }
            }
            (gap @ Self::ChangesKnown { .. }, _) | (_, gap @ Self::ChangesKnown { .. }) => gap,
            (Self::Complete { at: Some(one) }, Self::Complete { at: Some(other) }) => {
                Self::Complete { at: Some(if other.instant() < one.instant() { other } else { one }) }
            }
            (Self::Complete { at }, Self::Complete { at: other }) => Self::Complete { at: at.or(other) },
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete { at: Some(at) } => write!(f, "complete at {at}"),
            Self::Complete { at: None } => f.write_str("complete"),
            Self::ChangesKnown { since } => write!(f, "changes known since {since}, not what changed before"),
            Self::Unknown => {
                f.write_str("coverage unknown: the documents do not show if other resources changed")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime {
        DateTime::from_unix_seconds(second)
    }

    #[test]
    fn a_gap_stays_until_the_next_inventory() {
        let complete = Coverage::of_inventory(Some(at(1)), Some(Reach::Covered));
        assert_eq!(
            complete.with_changes(Reach::Covered, Some(at(5))),
            Coverage::Complete { at: Some(at(5)) }
        );
        let gap = complete.with_changes(Reach::Gap { earliest: at(7) }, Some(at(9)));
        assert_eq!(gap, Coverage::ChangesKnown { since: at(7) });
        assert_eq!(gap.with_changes(Reach::Covered, Some(at(12))), gap);
        assert_eq!(gap.with_changes(Reach::Unknown, Some(at(12))), Coverage::Unknown);
        assert!(Coverage::of_inventory(Some(at(20)), None).is_complete());
    }

    #[test]
    fn o738_unknown_coverage_blames_no_list_of_the_source() {
        // A set that the Source withdrew makes it unknown too, although the lists of its other sets cover everything.
        let shown = Coverage::Unknown.to_string();
        assert_eq!(shown, "coverage unknown: the documents do not show if other resources changed");
    }

    #[test]
    fn of_two_sets_the_lesser_counts() {
        let (one, gap) = (Coverage::Complete { at: Some(at(1)) }, Coverage::ChangesKnown { since: at(3) });
        assert_eq!(one.least(Coverage::Complete { at: Some(at(2)) }), one);
        assert_eq!(one.least(gap), gap);
        assert_eq!(gap.least(Coverage::Unknown), Coverage::Unknown);
    }
}
