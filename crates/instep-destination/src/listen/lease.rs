//! A subscription at a hub, from the first request to the last (WebSub §5). PURE: time is an argument, counted from any
//! moment. Requests are sent by `subscriber.rs`, and hubs are answered by `callbacks.rs`.

use std::time::Duration;

use super::hub_request::{Ask, Delivery, HubAnswer, Identity, Mode};

const SECOND: Duration = Duration::from_secs(1);
/// The shortest lease that is used. If a hub grants a shorter one, it is renewed as if it had granted this, because
/// requests would never end otherwise.
const SHORTEST: Duration = Duration::from_secs(10);
/// The time that a hub may take to verify.
const VERIFICATION: Duration = Duration::from_secs(60);
/// The time for which a former callback still accepts deliveries that were sent before the new subscription.
const TRANSITION: Duration = Duration::from_secs(60);
/// The first and the longest pause after a failure; it doubles each time.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(600));
/// The pause after a denial (CN-15).
const AFTER_DENIAL: Duration = Duration::from_secs(3_600);
/// The number of failures of each hub after which the hubs of the topic are looked up again.
const IN_VAIN: usize = 6;
/// The most former callbacks that are remembered.
const MOST_FORMER: usize = 4;

/// The subscription to one topic.
#[derive(Debug)]
pub(super) struct Lease {
    /// The lease to request.
    wanted: Duration,
    hubs: usize,
    hub: usize,
    names_lease: bool,
    held: Option<ConfirmedLease>,
    asked: Option<Asked>,
    former: Vec<Former>,
    failures: u32,
    not_before: Duration,
    ending: bool,
}

/// A confirmed subscription.
#[derive(Debug)]
struct ConfirmedLease {
    identity: Identity,
    hub: usize,
    renew: Duration,
    expires: Duration,
}

/// A request that waits for its verification.
#[derive(Debug)]
struct Asked {
    identity: Identity,
    until: Duration,
}

/// A subscription that should end.
#[derive(Debug)]
struct Former {
    identity: Identity,
    hub: usize,
    asked: bool,
    /// `true` if the hub refused to end it. Its next delivery is answered with 410.
    refused: bool,
    taken_until: Duration,
}

impl Lease {
    /// Returns a subscription that is not requested yet. There is at least one hub.
    pub(super) fn new(hubs: usize, wanted: Duration) -> Self {
        Self {
            wanted,
            hubs: hubs.max(1),
            hub: 0,
            names_lease: true,
            held: None,
            asked: None,
            former: Vec::new(),
            failures: 0,
            not_before: Duration::ZERO,
            ending: false,
        }
    }

    /// Returns the end of the lease; `None` if there is none.
    pub(super) fn expires(&self, now: Duration) -> Option<Duration> {
        self.held.as_ref().map(|held| held.expires).filter(|expires| now < *expires)
    }

    /// Returns the request to send now. Pass its answer to [`Self::answered`] before asking for the next one.
    pub(super) fn ask(&mut self, now: Duration, fresh: impl FnOnce() -> Identity) -> Option<Ask> {
        self.pass(now);
        // Subscriptions are ended first, because until then a hub continues to deliver to the former callback.
        if let Some(former) = self.former.iter_mut().find(|former| !former.asked) {
            former.asked = true;
            let identity = former.identity.clone();
            return Some(Ask { mode: Mode::Unsubscribe, identity, lease: None, hub: former.hub });
        }
        let renews = self.held.as_ref().is_none_or(|held| now >= held.renew);
        if self.ending || self.asked.is_some() || !renews || now < self.not_before {
            return None;
        }
        // Each request has a callback of its own, so that the answer to an earlier one does not count as an answer to
        // this one (W2).
        let identity = fresh();
        self.asked = Some(Asked { identity: identity.clone(), until: now + VERIFICATION });
        let lease = self.names_lease.then_some(self.wanted);
        Some(Ask { mode: Mode::Subscribe, identity, lease, hub: self.hub })
    }

    /// Returns the time of the next request from [`Self::ask`], if nothing else happens until then.
    pub(super) fn next(&self) -> Option<Duration> {
        if self.former.iter().any(|former| !former.asked) {
            return Some(Duration::ZERO);
        }
        let expires = self.held.as_ref().map(|held| held.expires);
        let asks = match (&self.asked, &self.held) {
            _ if self.ending => None,
            (Some(asked), _) => Some(asked.until),
            (None, Some(held)) => Some(held.renew.max(self.not_before)),
            (None, None) => Some(self.not_before),
        };
        expires.into_iter().chain(asks).min()
    }

    /// Records the hub's answer to a request.
    pub(super) fn answered(&mut self, ask: &Ask, answer: HubAnswer, now: Duration) {
        if ask.mode == Mode::Unsubscribe {
            let former = self.former.iter_mut().find(|former| former.identity == ask.identity);
            if let Some(former) = former.filter(|_| answer != HubAnswer::Accepted) {
                former.refused = true;
            }
            return;
        }
        // A hub may verify before it answers. The request is then no longer pending, and the lease is held.
        let waits = self.asked.as_ref().is_some_and(|asked| asked.identity == ask.identity);
        match answer {
            HubAnswer::Accepted => {}
            _ if !waits => {}
            // Some hubs refuse a lease that they do not grant, and accept a request without one.
            HubAnswer::Refused if self.names_lease => {
                (self.asked, self.names_lease, self.not_before) = (None, false, now);
            }
            HubAnswer::Refused | HubAnswer::Failed => self.fail(now),
        }
    }

    /// Decides about a verification of intent. Returns `true` if it is confirmed, because this was requested (CN-13).
    pub(super) fn verify(
        &mut self,
        token: &str,
        mode: Mode,
        granted: Option<Duration>,
        now: Duration,
    ) -> bool {
        match mode {
            Mode::Unsubscribe => {
                // It is confirmed only if it was requested: an outsider must not end a subscription (CN-13).
                let asked = |former: &Former| former.asked && former.identity.token == token;
                let position = self.former.iter().position(asked);
                position.map(|position| self.former.remove(position)).is_some()
            }
            Mode::Subscribe => {
                let lease = granted.unwrap_or(self.wanted).max(SHORTEST);
                // Renewed after two thirds, so that a hub may be unreachable for a third of the lease before anything
                // is missed.
                let (renew, expires) = (now + lease * 2 / 3, now + lease);
                if let Some(held) = self.held.as_mut().filter(|held| held.identity.token == token) {
                    (held.renew, held.expires) = (renew, expires);
                    return true;
                }
                let Some(asked) = self.asked.take_if(|asked| asked.identity.token == token) else {
                    return false;
                };
                let held = ConfirmedLease { identity: asked.identity, hub: self.hub, renew, expires };
                if let Some(before) = self.held.replace(held) {
                    self.dismiss(before, now);
                }
                (self.failures, self.not_before) = (0, now);
                true
            }
        }
    }

    /// Records that the hub ended a subscription or will not begin it (CN-15). Returns `true` if the callback is one of
    /// this subscription.
    pub(super) fn deny(&mut self, token: &str, now: Duration) -> bool {
        let asked = self.asked.take_if(|asked| asked.identity.token == token).is_some();
        let held = self.held.take_if(|held| held.identity.token == token).is_some();
        if asked || held {
            self.hub = (self.hub + 1) % self.hubs;
            self.not_before = now + AFTER_DENIAL;
        }
        asked || held
    }

    /// Decides about a delivery to a callback.
    pub(super) fn delivered(&self, token: &str, now: Duration) -> Delivery {
        if let Some(held) = self.held.as_ref().filter(|held| held.identity.token == token) {
            let secret = held.identity.secret.clone();
            return if now < held.expires { Delivery::Taken { secret } } else { Delivery::Gone };
        }
        match self.former.iter().find(|former| former.identity.token == token) {
            Some(former) if now < former.taken_until => {
                Delivery::Taken { secret: former.identity.secret.clone() }
            }
            Some(_) => Delivery::Gone,
            None => Delivery::Unknown,
        }
    }

    /// Returns `true` if a callback is one of this subscription.
    pub(super) fn knows(&self, token: &str) -> bool {
        let identities = self.held.iter().map(|held| &held.identity);
        let identities = identities.chain(self.asked.iter().map(|asked| &asked.identity));
        identities
            .chain(self.former.iter().map(|former| &former.identity))
            .any(|identity| identity.token == token)
    }

    /// Ends the subscription (CN-19). [`Self::ask`] returns the requests that this needs.
    pub(super) fn end(&mut self, now: Duration) {
        self.ending = true;
        self.asked = None;
        if let Some(held) = self.held.take() {
            self.dismiss(held, now);
        }
    }

    /// Returns `true` if the end of the subscription was requested.
    pub(super) fn is_ending(&self) -> bool {
        self.ending
    }

    /// Returns `true` if [`IN_VAIN`] attempts failed at every hub, so that the hubs of the topic should be looked up
    /// again.
    pub(super) fn is_in_vain(&self) -> bool {
        self.held.is_none() && self.asked.is_none() && self.failures as usize >= IN_VAIN * self.hubs
    }

    /// Returns `true` if no subscription is left to end.
    pub(super) fn has_ended(&self) -> bool {
        self.ending && self.former.iter().all(|former| former.refused)
    }

    fn dismiss(&mut self, held: ConfirmedLease, now: Duration) {
        if self.former.len() == MOST_FORMER {
            self.former.remove(0);
        }
        let taken_until = held.expires.min(now + TRANSITION);
        let ConfirmedLease { identity, hub, .. } = held;
        self.former.push(Former { identity, hub, asked: false, refused: false, taken_until });
    }

    /// Applies what the passing of time changes: a lease that has ended, and a verification that did not arrive.
    fn pass(&mut self, now: Duration) {
        self.held.take_if(|held| held.expires <= now);
        if self.asked.as_ref().is_some_and(|asked| asked.until <= now) {
            self.fail(now);
        }
    }

    fn fail(&mut self, now: Duration) {
        self.asked = None;
        self.hub = (self.hub + 1) % self.hubs;
        let pause = PAUSES.0.saturating_mul(1 << self.failures.min(16)).min(PAUSES.1);
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + pause.max(SECOND);
    }
}

#[cfg(test)]
mod tests;
