//! The limit of deletions.

use std::{fmt, str::FromStr};

/// The largest number of deletions in one run, and in all runs of a day that have the same limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxDelete {
    /// The larger of 10 resources and 10 % of the held resources.
    #[default]
    Default,
    /// A number of resources.
    Count(u64),
    /// At most this percentage of the resources that are held.
    Percent(u8),
}

impl MaxDelete {
    /// Returns the most deletions that are allowed if `held` resources are held.
    pub fn limit(self, held: u64) -> u64 {
        match self {
            Self::Default => (held / 10).max(10),
            Self::Count(count) => count,
            Self::Percent(percent) => held * u64::from(percent) / 100,
        }
    }
}

impl fmt::Display for MaxDelete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the larger of 10 and 10%"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl FromStr for MaxDelete {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "write a number of resources such as 500, or a percentage from 0% to 100%";
        match text.strip_suffix('%') {
            Some(percent) => match percent.parse() {
                Ok(percent @ 0..=100) => Ok(Self::Percent(percent)),
                _ => Err(wrong),
            },
            None => text.parse().map(Self::Count).map_err(|_| wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_limit_is_a_count_or_a_percentage() {
        assert_eq!("500".parse(), Ok(MaxDelete::Count(500)));
        assert_eq!("10%".parse(), Ok(MaxDelete::Percent(10)));
        assert!("101%".parse::<MaxDelete>().is_err());
        assert!("many".parse::<MaxDelete>().is_err());
    }

    #[test]
    fn the_default_limit_is_the_larger_of_ten_and_ten_per_cent() {
        assert_eq!(MaxDelete::Default.limit(50), 10);
        assert_eq!(MaxDelete::Default.limit(1000), 100);
    }
}
