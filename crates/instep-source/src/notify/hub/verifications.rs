//! Limits on verifications: how often an address, its network, and all networks together are asked to confirm a
//! request that an outsider made in their name (W1, C16). PURE: time is an argument, in microseconds since 1970.

use std::collections::BTreeMap;

use instep_net::Cidr;

/// The unconfirmed verifications of one address in a minute. Confirmed ones do not count.
pub(super) const PER_ADDRESS: u32 = 30;
/// The limit for the network of an address: an attacker of a site can name each of its addresses.
pub(super) const PER_NETWORK: u32 = 60;
/// The limit for all networks together: an attacker who uses this hub can name many of them.
pub(super) const IN_ALL: u32 = 600;
const MINUTE: i64 = 60_000_000;

/// The networks that one verification counts for, each with its limit.
pub(super) type Targets = Vec<(Cidr, u32)>;

/// The decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The limits allow a verification: the callback is asked now.
    Now,
    /// The limit is reached by verifications in flight: their answers have to come first.
    Later,
    /// The request is refused, because too many verifications were left unconfirmed.
    Refused,
}

/// The counts of the last minute.
#[derive(Debug, Default)]
pub(super) struct Verifications {
    counts: BTreeMap<Cidr, Count>,
}

#[derive(Debug)]
struct Count {
    since: i64,
    unconfirmed: u32,
    pending: u32,
}

impl Count {
    /// Returns `true` if its minute is not over. One that begins ahead of the clock, which was set back, is over: otherwise it
    /// would last until the clock has caught up.
    fn is_of_this_minute(&self, now: i64) -> bool {
        (0..MINUTE).contains(&(now - self.since))
    }
}

impl Verifications {
    /// Decides if a callback may be verified once more. After [`Admission::Now`], [`Self::done`] must follow.
    pub(super) fn ask(&mut self, targets: &Targets, now: i64) -> Admission {
        self.counts.retain(|_, count| count.pending > 0 || count.is_of_this_minute(now));
        let mut admission = Admission::Now;
        for (network, limit) in targets {
            let Some(count) = self.counts.get_mut(network) else { continue };
            if !count.is_of_this_minute(now) {
                (count.since, count.unconfirmed) = (now, 0);
            }
            if count.unconfirmed >= *limit {
                return Admission::Refused;
            }
            if count.unconfirmed + count.pending >= *limit {
                admission = Admission::Later;
            }
        }
        if admission == Admission::Now {
            for (network, _) in targets {
                let fresh = || Count { since: now, unconfirmed: 0, pending: 0 };
                self.counts.entry(*network).or_insert_with(fresh).pending += 1;
            }
        }
        admission
    }

    /// Records the result of a verification.
    pub(super) fn done(&mut self, targets: &Targets, confirmed: bool) {
        for (network, _) in targets {
            if let Some(count) = self.counts.get_mut(network) {
                count.pending = count.pending.saturating_sub(1);
                count.unconfirmed += u32::from(!confirmed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(address: &str) -> Targets {
        let address = address.parse().unwrap();
        vec![
            (Cidr::around(address, 32, 128), PER_ADDRESS),
            (Cidr::around(address, 24, 48), PER_NETWORK),
            (Cidr::around(address, 0, 0), IN_ALL),
        ]
    }

    #[test]
    fn w1_an_address_that_does_not_want_it_is_asked_thirty_times_a_minute_at_most() {
        let mut verifications = Verifications::default();
        let victim = targets("192.0.2.1");
        let mut asked = 0;
        for round in 0..10_000 {
            if verifications.ask(&victim, round) == Admission::Now {
                asked += 1;
                verifications.done(&victim, false);
            }
        }
        assert_eq!(asked, PER_ADDRESS);
        assert_eq!(verifications.ask(&targets("198.51.100.1"), 0), Admission::Now);
        assert_eq!(verifications.ask(&victim, MINUTE), Admission::Now);
    }

    #[test]
    fn c16_a_thousand_subscriptions_over_199_addresses_of_a_network_bring_sixty_questions() {
        let mut verifications = Verifications::default();
        let mut asked = 0;
        for round in 0..1_000 {
            let victim = targets(&format!("127.0.0.{}", round % 199 + 1));
            if verifications.ask(&victim, round) == Admission::Now {
                asked += 1;
                verifications.done(&victim, false);
            }
        }
        assert_eq!(asked, PER_NETWORK);
    }

    #[test]
    fn c16_many_networks_together_have_a_limit_too() {
        let mut verifications = Verifications::default();
        let mut asked = 0;
        for round in 0..10_000_u32 {
            let victim = targets(&format!("10.{}.{}.1", round / 250, round % 250));
            if verifications.ask(&victim, 0) == Admission::Now {
                asked += 1;
                verifications.done(&victim, false);
            }
        }
        assert_eq!(asked, IN_ALL);
        verifications.ask(&targets("192.0.2.1"), 3 * MINUTE);
        assert_eq!(verifications.counts.len(), 3, "what is over is forgotten");
    }

    #[test]
    fn o692_the_limits_of_a_minute_end_also_if_the_clock_is_set_back() {
        let mut verifications = Verifications::default();
        let victim = targets("192.0.2.1");
        let ahead = 1_000_000 * MINUTE;
        for _ in 0..PER_ADDRESS {
            assert_eq!(verifications.ask(&victim, ahead), Admission::Now);
            verifications.done(&victim, false);
        }
        assert_eq!(verifications.ask(&victim, ahead), Admission::Refused);
        assert_eq!(verifications.ask(&victim, 0), Admission::Now);
        assert_eq!(verifications.ask(&victim, 0), Admission::Now, "the count begins anew");
    }

    #[test]
    fn an_address_that_confirms_is_asked_as_often_as_it_likes_and_some_at_a_time() {
        let mut verifications = Verifications::default();
        let willing = targets("192.0.2.1");
        for _ in 0..PER_ADDRESS {
            assert_eq!(verifications.ask(&willing, 0), Admission::Now);
        }
        assert_eq!(verifications.ask(&willing, 0), Admission::Later);
        for _ in 0..1_000 {
            verifications.done(&willing, true);
            assert_eq!(verifications.ask(&willing, 0), Admission::Now);
        }
    }
}
