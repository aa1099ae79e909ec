//! Messages for the operator: when a Source begins to fail, is refused or put into quarantine, and when it recovers.
//! Each is sent once. PURE.

use instep_destination::exit_code;
use serde::Serialize;

use crate::{name::SourceName, standing::SourceStanding};

/// The reason of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AlertKind {
    /// It failed several times in a row.
    Failing,
    /// A guard refuses a publication of the Source.
    Refused,
    /// It failed so often that it is visited only once a week.
    Quarantined,
    /// It works again.
    Recovered,
}

impl AlertKind {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Refused => "refused",
            Self::Quarantined => "quarantined",
            Self::Recovered => "recovered",
        }
    }
}

/// A message for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Alert {
    /// The Source.
    pub source: SourceName,
    /// Its URL.
    pub url: String,
    /// The reason.
    pub kind: AlertKind,
    /// The error, or the line of the run that went well.
    pub text: String,
    /// The time, in seconds since 1970.
    pub at: i64,
}

/// Returns the reason for a message after the last look. `None` if nothing is new, or if it was already sent: a
/// Source that keeps failing is reported again only when it gets worse.
pub(crate) fn due(standing: &SourceStanding, alert_after: u32) -> Option<AlertKind> {
    let kind = match standing {
        SourceStanding { quarantined: true, .. } => AlertKind::Quarantined,
        SourceStanding { failures: 1.., exit_code: Some(exit_code::REFUSED), .. } => AlertKind::Refused,
        SourceStanding { failures, .. } if *failures >= alert_after.max(1) => AlertKind::Failing,
        SourceStanding { failures: 0, alerted: Some(_), .. } => return Some(AlertKind::Recovered),
        _ => return None,
    };
    let alerted = [AlertKind::Failing, AlertKind::Refused, AlertKind::Quarantined]
        .into_iter()
        .find(|kind| standing.alerted.as_deref() == Some(kind.as_str()));
    (alerted < Some(kind)).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_sent_once_until_the_source_recovers() {
        use AlertKind::{Failing, Quarantined, Recovered, Refused};
        let mut standing = SourceStanding::default();
        let mut sent = Vec::new();
        let mut look = |failures: u32, quarantined: bool, exit_code: u8| {
            (standing.failures, standing.quarantined, standing.exit_code) =
                (failures, quarantined, Some(exit_code));
            if let Some(kind) = due(&standing, 3) {
                sent.push(kind);
                standing.alerted = (kind != Recovered).then(|| kind.as_str().to_owned());
            }
        };
        (1..8).for_each(|failures| look(failures, false, 4));
        (8..12).for_each(|failures| look(failures, true, 4));
        (0..3).for_each(|_| look(0, false, 0));
        look(1, false, 6);
        look(2, false, 6);
        look(0, false, 3);
        assert_eq!(sent, [Failing, Quarantined, Recovered, Refused, Recovered]);
    }
}
