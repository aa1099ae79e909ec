//! Datetimes as records keep them.

use std::time::Duration;

use resourcesync::DateTime;
use serde::{Deserialize, Serialize};

/// A datetime of the Source, kept as microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "i64", into = "i64")]
pub(crate) struct Moment(pub DateTime);

impl From<i64> for Moment {
    fn from(micros: i64) -> Self {
        Self(DateTime::from_unix_micros(micros))
    }
}

impl From<Moment> for i64 {
    fn from(moment: Moment) -> Self {
        moment.0.unix_micros()
    }
}

impl Moment {
    /// Returns `true` if `age` has passed between this moment and `now`.
    pub(crate) fn is_older_than(self, age: Duration, now: DateTime) -> bool {
        let micros = now.unix_micros().saturating_sub(self.0.unix_micros());
        u128::try_from(micros).is_ok_and(|micros| micros >= age.as_micros())
    }
}
