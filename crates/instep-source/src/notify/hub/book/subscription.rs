//! The time of the next attempt to deliver to a subscriber, and counts of subscribers. PURE: time is an argument, in
//! microseconds since 1970.

use crate::catalogue::HubSubscription;

pub(super) const SECOND: i64 = 1_000_000;
/// The first wait after a failure; it doubles each time.
pub(super) const FIRST_WAIT: i64 = 5 * SECOND;
pub(super) const LONGEST_WAIT: i64 = 3_600 * SECOND;
/// The time after which a subscriber that only fails is given up (W10): three days outlast a weekend.
pub(super) const GIVE_UP_AFTER: i64 = 3 * 24 * 3_600 * SECOND;

/// The numbers of subscribers of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubscriberCounts {
    pub(crate) all: usize,
    /// Those whose last delivery failed.
    pub(crate) failing: usize,
}

impl SubscriberCounts {
    /// Counts subscriptions.
    pub(super) fn of<'s>(subscriptions: impl Iterator<Item = &'s HubSubscription>) -> Self {
        let mut counts = Self::default();
        for subscription in subscriptions {
            counts.all += 1;
            counts.failing += usize::from(subscription.failures > 0);
        }
        counts
    }
}

impl HubSubscription {
    /// Returns `true` if an attempt may be made now. One that lies further ahead than the longest wait was set before the
    /// clock went back, and would keep the subscriber without messages until the clock has caught up.
    pub(super) fn is_due(&self, now: i64) -> bool {
        self.next_attempt <= now || self.next_attempt > now + LONGEST_WAIT
    }

    /// Records a failed attempt and sets the time of the next one. Returns `true` if the subscriber is given up.
    pub(super) fn fail(&mut self, now: i64) -> bool {
        // Failures that began ahead of the clock begin now: it was set back.
        let since = self.failing_since.map_or(now, |since| since.min(now));
        self.failing_since = Some(since);
        self.next_attempt = now + wait(self.failures);
        self.failures = self.failures.saturating_add(1);
        now - since > GIVE_UP_AFTER
    }
}

fn wait(failures: u32) -> i64 {
    FIRST_WAIT.saturating_mul(1_i64 << failures.min(20)).min(LONGEST_WAIT)
}
