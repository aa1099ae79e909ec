//! How often a host is asked whether it wants what somebody asked for in its name (W1). PURE: time is an argument, in
//! microseconds since 1970.

use std::collections::BTreeMap;

/// Verifications in a minute that a host may leave unconfirmed; those that it confirms cost nothing.
const UNCONFIRMED: u32 = 30;
const MINUTE: i64 = 60_000_000;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The callback may be asked.
    Now,
    /// So many answers of the host are on their way that they have to come first.
    Later,
    /// The host has not wanted too much already.
    Refused,
}

/// The hosts of the last minute.
#[derive(Debug, Default)]
pub(super) struct Verifications {
    hosts: BTreeMap<String, Host>,
}

#[derive(Debug)]
struct Host {
    since: i64,
    unconfirmed: u32,
    pending: u32,
}

impl Verifications {
    /// Whether a host may be asked once more; where it may, [`Self::done`] follows.
    pub(super) fn ask(&mut self, host: &str, now: i64) -> Admission {
        self.hosts.retain(|_, host| host.pending > 0 || now - host.since < MINUTE);
        let fresh = || Host { since: now, unconfirmed: 0, pending: 0 };
        let host = self.hosts.entry(host.to_owned()).or_insert_with(fresh);
        if now - host.since >= MINUTE {
            (host.since, host.unconfirmed) = (now, 0);
        }
        if host.unconfirmed + host.pending < UNCONFIRMED {
            host.pending += 1;
            Admission::Now
        } else if host.unconfirmed < UNCONFIRMED {
            Admission::Later
        } else {
            Admission::Refused
        }
    }

    /// The host answered, or did not.
    pub(super) fn done(&mut self, host: &str, confirmed: bool) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.pending = host.pending.saturating_sub(1);
            host.unconfirmed += u32::from(!confirmed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_a_host_that_does_not_want_it_is_asked_thirty_times_a_minute_at_most() {
        let mut verifications = Verifications::default();
        let mut asked = 0;
        for round in 0..10_000 {
            if verifications.ask("victim", round) == Admission::Now {
                asked += 1;
                verifications.done("victim", false);
            }
        }
        assert_eq!(asked, UNCONFIRMED);
        assert_eq!(verifications.ask("other", 0), Admission::Now);
        assert_eq!(verifications.ask("victim", MINUTE), Admission::Now);
        verifications.ask("third", 3 * MINUTE);
        assert_eq!(verifications.hosts.len(), 3, "whose answer is on its way is remembered");
    }

    #[test]
    fn a_host_that_wants_it_is_asked_as_often_as_it_likes_and_some_at_a_time() {
        let mut verifications = Verifications::default();
        for _ in 0..UNCONFIRMED {
            assert_eq!(verifications.ask("willing", 0), Admission::Now);
        }
        assert_eq!(verifications.ask("willing", 0), Admission::Later);
        for _ in 0..1_000 {
            verifications.done("willing", true);
            assert_eq!(verifications.ask("willing", 0), Admission::Now);
        }
    }
}
