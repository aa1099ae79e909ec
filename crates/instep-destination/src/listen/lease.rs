//! A subscription at a hub, from the first request to the last (WebSub §5). PURE: time is an argument, counted from any
//! moment; requests and answers are elsewhere.

use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
/// The lease that is asked for.
const WANTED: Duration = Duration::from_secs(10 * 24 * 3_600);
/// A lease shorter than this is taken for this long, so that no hub can make us ask without end.
const SHORTEST: Duration = Duration::from_secs(10);
/// How long a hub may take to verify.
const VERIFICATION: Duration = Duration::from_secs(60);
/// What comes by a former callback for so long was on its way.
const TRANSITION: Duration = Duration::from_secs(60);
/// The first and the longest pause after a failure; it doubles each time.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(600));
/// The pause after a denial (CN-15).
const AFTER_DENIAL: Duration = Duration::from_secs(3_600);
/// Failures of a hub after which the topic is asked again which hubs it has.
const IN_VAIN: usize = 6;
/// Former callbacks that are remembered.
const MOST_FORMER: usize = 4;

/// What only hub and subscriber know of one callback (W2, W6); each request for a subscription has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// The last segment of the callback's path.
    pub(super) token: String,
    /// What deliveries are signed with.
    pub(super) secret: String,
}

/// A request to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) mode: Mode,
    pub(super) identity: Identity,
    /// The lease asked for; some hubs want to choose it.
    pub(super) lease: Option<Duration>,
    /// Which of the hubs.
    pub(super) hub: usize,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Subscribe,
    Unsubscribe,
}

impl Mode {
    /// As it stands in requests.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Subscribe => "subscribe",
            Self::Unsubscribe => "unsubscribe",
        }
    }
}

/// How the hub answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It will verify, or has done so.
    Accepted,
    /// It does not want this request.
    Refused,
    /// It did not answer, or cannot now.
    Failed,
}

/// What becomes of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is taken where it is signed with this secret.
    Taken { secret: String },
    /// It belongs to a subscription that was ended: 410.
    Gone,
    /// Nobody here asked for it: 404.
    Unknown,
}

/// The subscription to one topic.
#[derive(Debug)]
pub(super) struct Lease {
    hubs: usize,
    hub: usize,
    names_lease: bool,
    held: Option<Held>,
    asked: Option<Asked>,
    former: Vec<Former>,
    failures: u32,
    not_before: Duration,
    ending: bool,
}

/// A confirmed subscription.
#[derive(Debug)]
struct Held {
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

/// A subscription that is to end.
#[derive(Debug)]
struct Former {
    identity: Identity,
    hub: usize,
    asked: bool,
    /// The hub does not end it; it will hear 410 at its next delivery.
    refused: bool,
    taken_until: Duration,
}

impl Lease {
    /// Nothing is asked for yet; there is at least one hub.
    pub(super) fn new(hubs: usize) -> Self {
        Self {
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

    /// Whether deliveries come.
    pub(super) fn is_held(&self, now: Duration) -> bool {
        self.held.as_ref().is_some_and(|held| now < held.expires)
    }

    /// The request to send now. Its answer goes to [`Self::answered`] before the next one is taken.
    pub(super) fn ask(&mut self, now: Duration, fresh: impl FnOnce() -> Identity) -> Option<Ask> {
        self.pass(now);
        if let Some(former) = self.former.iter_mut().find(|former| !former.asked) {
            former.asked = true;
            let identity = former.identity.clone();
            return Some(Ask { mode: Mode::Unsubscribe, identity, lease: None, hub: former.hub });
        }
        let renews = self.held.as_ref().is_none_or(|held| now >= held.renew);
        if self.ending || self.asked.is_some() || !renews || now < self.not_before {
            return None;
        }
        let identity = fresh();
        self.asked = Some(Asked { identity: identity.clone(), until: now + VERIFICATION });
        let lease = self.names_lease.then_some(WANTED);
        Some(Ask { mode: Mode::Subscribe, identity, lease, hub: self.hub })
    }

    /// When [`Self::ask`] may have something next, if nothing else happens.
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

    /// The hub's answer to a request.
    pub(super) fn answered(&mut self, ask: &Ask, answer: Answer, now: Duration) {
        if ask.mode == Mode::Unsubscribe {
            let former = self.former.iter_mut().find(|former| former.identity == ask.identity);
            if let Some(former) = former.filter(|_| answer != Answer::Accepted) {
                former.refused = true;
            }
            return;
        }
        // What the hub verified while it answered is held already.
        let waits = self.asked.as_ref().is_some_and(|asked| asked.identity == ask.identity);
        match answer {
            Answer::Accepted => {}
            _ if !waits => {}
            Answer::Refused if self.names_lease => {
                (self.asked, self.names_lease, self.not_before) = (None, false, now);
            }
            Answer::Refused | Answer::Failed => self.fail(now),
        }
    }

    /// Whether a verification of intent is confirmed (CN-13): this is what was asked for.
    pub(super) fn verify(
        &mut self,
        token: &str,
        mode: Mode,
        granted: Option<Duration>,
        now: Duration,
    ) -> bool {
        match mode {
            Mode::Unsubscribe => {
                let asked = |former: &Former| former.asked && former.identity.token == token;
                let position = self.former.iter().position(asked);
                position.map(|position| self.former.remove(position)).is_some()
            }
            Mode::Subscribe => {
                let lease = granted.unwrap_or(WANTED).max(SHORTEST);
                let (renew, expires) = (now + lease * 2 / 3, now + lease);
                if let Some(held) = self.held.as_mut().filter(|held| held.identity.token == token) {
                    (held.renew, held.expires) = (renew, expires);
                    return true;
                }
                let Some(asked) = self.asked.take_if(|asked| asked.identity.token == token) else {
                    return false;
                };
                let held = Held { identity: asked.identity, hub: self.hub, renew, expires };
                if let Some(before) = self.held.replace(held) {
                    self.dismiss(before, now);
                }
                (self.failures, self.not_before) = (0, now);
                true
            }
        }
    }

    /// The hub ended the subscription of a callback, or will not begin it (CN-15). Whether it was one of ours.
    pub(super) fn deny(&mut self, token: &str, now: Duration) -> bool {
        let asked = self.asked.take_if(|asked| asked.identity.token == token).is_some();
        let held = self.held.take_if(|held| held.identity.token == token).is_some();
        if asked || held {
            self.hub = (self.hub + 1) % self.hubs;
            self.not_before = now + AFTER_DENIAL;
        }
        asked || held
    }

    /// What becomes of a delivery to a callback.
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

    /// Whether a callback is one of this subscription's.
    pub(super) fn knows(&self, token: &str) -> bool {
        let identities = self.held.iter().map(|held| &held.identity);
        let identities = identities.chain(self.asked.iter().map(|asked| &asked.identity));
        identities
            .chain(self.former.iter().map(|former| &former.identity))
            .any(|identity| identity.token == token)
    }

    /// Ends the subscription (CN-19); what is left to do is in [`Self::ask`].
    pub(super) fn end(&mut self, now: Duration) {
        self.ending = true;
        self.asked = None;
        if let Some(held) = self.held.take() {
            self.dismiss(held, now);
        }
    }

    /// Whether it is to end.
    pub(super) fn is_ending(&self) -> bool {
        self.ending
    }

    /// Whether no hub has given a lease for so many attempts that the topic may have others by now.
    pub(super) fn is_in_vain(&self) -> bool {
        self.held.is_none() && self.asked.is_none() && self.failures as usize >= IN_VAIN * self.hubs
    }

    /// Whether nothing is left to be ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ending && self.former.iter().all(|former| former.refused)
    }

    fn dismiss(&mut self, held: Held, now: Duration) {
        if self.former.len() == MOST_FORMER {
            self.former.remove(0);
        }
        let taken_until = held.expires.min(now + TRANSITION);
        let Held { identity, hub, .. } = held;
        self.former.push(Former { identity, hub, asked: false, refused: false, taken_until });
    }

    /// What time alone brings about.
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const DAY: Duration = Duration::from_secs(24 * 3_600);

    /// A hub and its subscriber in simulated time.
    struct World {
        lease: Lease,
        now: Duration,
        /// The lease that it grants, whatever is asked for.
        grants: Duration,
        /// Tokens with the end of their leases.
        subscribed: BTreeMap<String, Duration>,
        asked: Vec<(Duration, Ask)>,
        answer: Answer,
        verifies: bool,
    }

    impl World {
        fn new(grants: Duration) -> Self {
            Self {
                lease: Lease::new(1),
                now: Duration::ZERO,
                grants,
                subscribed: BTreeMap::new(),
                asked: Vec::new(),
                answer: Answer::Accepted,
                verifies: true,
            }
        }

        /// Lets time pass until then; all that the subscriber asks for is asked.
        fn run(&mut self, until: Duration) {
            loop {
                while let Some(ask) = self.lease.ask(self.now, || identity(self.asked.len())) {
                    self.asked.push((self.now, ask.clone()));
                    self.lease.answered(&ask, self.answer, self.now);
                    if self.answer == Answer::Accepted && self.verifies {
                        self.verify(&ask);
                    }
                }
                let next = self.lease.next().filter(|next| *next < until);
                let Some(next) = next else { break };
                assert!(next > self.now, "time stands still at {next:?}");
                self.now = next;
            }
            self.now = until;
        }

        fn verify(&mut self, ask: &Ask) {
            let token = &ask.identity.token;
            assert!(self.lease.verify(token, ask.mode, Some(self.grants), self.now));
            match ask.mode {
                Mode::Subscribe => self.subscribed.insert(token.clone(), self.now + self.grants),
                Mode::Unsubscribe => self.subscribed.remove(token),
            };
        }

        /// Whether a message that is published now reaches the subscriber.
        fn is_reached(&self) -> bool {
            let due = self.subscribed.iter().filter(|(_, expires)| **expires > self.now);
            let taken = |token: &str| matches!(self.lease.delivered(token, self.now), Delivery::Taken { .. });
            due.into_iter().any(|(token, _)| taken(token))
        }

        fn subscriptions(&self) -> usize {
            self.asked.iter().filter(|(_, ask)| ask.mode == Mode::Subscribe).count()
        }
    }

    fn identity(number: usize) -> Identity {
        Identity { token: format!("token {number}"), secret: format!("secret {number}") }
    }

    #[test]
    fn w4_a_lease_is_renewed_after_two_thirds_and_never_runs_out() {
        let mut world = World::new(DAY);
        for hour in 1..24 * 30 {
            world.run(HOUR * hour);
            assert!(world.is_reached() && world.lease.is_held(world.now), "hour {hour}");
        }
        assert_eq!(world.subscriptions(), 45, "30 days in steps of 16 hours");
        assert_eq!(world.subscribed.len(), 1, "former callbacks are unsubscribed");
    }

    #[test]
    fn w6_each_renewal_has_another_callback_and_secret() {
        let mut world = World::new(DAY);
        world.run(3 * DAY);
        let subscribed = world.asked.iter().filter(|(_, ask)| ask.mode == Mode::Subscribe);
        let identities: Vec<_> = subscribed.map(|(_, ask)| ask.identity.clone()).collect();
        assert!(identities.len() > 3 && identities.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(world.lease.delivered("a guess", world.now), Delivery::Unknown);
        assert!(!world.lease.verify("a guess", Mode::Subscribe, None, world.now));
        assert!(!world.lease.verify("a guess", Mode::Unsubscribe, None, world.now));
    }

    #[test]
    fn w4_a_lease_that_could_not_be_renewed_is_lost_and_comes_back() {
        let mut world = World::new(DAY);
        world.run(HOUR);
        world.answer = Answer::Failed;
        world.run(2 * DAY);
        assert!(!world.lease.is_held(world.now) && !world.is_reached());
        let attempts = world.asked.len();
        assert!((100..400).contains(&attempts), "{attempts}: often enough, and not more");
        world.answer = Answer::Accepted;
        world.run(2 * DAY + PAUSES.1);
        assert!(world.lease.is_held(world.now) && world.is_reached());
    }

    #[test]
    fn a_hub_that_never_verifies_is_asked_again_and_not_too_often() {
        let mut world = World::new(DAY);
        world.verifies = false;
        world.run(DAY);
        assert!((100..200).contains(&world.asked.len()), "{}", world.asked.len());
        let late = world.asked[3].1.clone();
        assert!(!world.lease.verify(&late.identity.token, Mode::Subscribe, None, world.now));
        world.verifies = true;
        world.run(DAY + HOUR);
        assert!(world.is_reached());
    }

    #[test]
    fn a_hub_that_ends_leases_at_once_is_not_asked_without_end() {
        let mut world = World::new(Duration::ZERO);
        world.run(HOUR);
        assert!(world.subscriptions() < 600, "{}", world.subscriptions());
    }

    #[test]
    fn a_hub_that_refuses_to_be_told_the_lease_chooses_it() {
        let mut lease = Lease::new(1);
        let first = lease.ask(Duration::ZERO, || identity(0)).unwrap();
        assert_eq!(first.lease, Some(WANTED));
        lease.answered(&first, Answer::Refused, Duration::ZERO);
        let second = lease.ask(Duration::ZERO, || identity(1)).unwrap();
        assert_eq!(second.lease, None);
    }

    #[test]
    fn another_hub_is_tried_after_a_failure() {
        let mut lease = Lease::new(2);
        let first = lease.ask(Duration::ZERO, || identity(0)).unwrap();
        lease.answered(&first, Answer::Failed, Duration::ZERO);
        let second = lease.ask(PAUSES.0, || identity(1)).unwrap();
        assert_eq!((first.hub, second.hub), (0, 1));
    }

    #[test]
    fn cn_15_a_denial_ends_what_was_held_and_is_respected_for_a_while() {
        let mut world = World::new(DAY);
        world.run(HOUR);
        let token = world.asked[0].1.identity.token.clone();
        assert!(!world.lease.deny("a guess", world.now));
        assert!(world.lease.deny(&token, world.now));
        assert!(!world.lease.is_held(world.now));
        world.run(HOUR + AFTER_DENIAL);
        assert_eq!(world.subscriptions(), 1);
        world.run(HOUR + AFTER_DENIAL + SECOND);
        assert!(world.is_reached());
    }

    #[test]
    fn what_was_on_its_way_to_a_former_callback_is_taken_and_later_ones_are_gone() {
        let mut world = World::new(DAY);
        world.run(HOUR);
        world.run(DAY * 2 / 3 + SECOND);
        let [first, second] = [0, 1].map(|at: usize| world.asked[at].1.identity.token.clone());
        assert_ne!(first, second);
        // Without a verified end the former callback is remembered.
        let mut lease = Lease::new(1);
        let ask = lease.ask(Duration::ZERO, || identity(0)).unwrap();
        assert!(lease.verify(&ask.identity.token, Mode::Subscribe, Some(DAY), Duration::ZERO));
        lease.end(HOUR);
        assert!(matches!(lease.delivered(&ask.identity.token, HOUR), Delivery::Taken { .. }));
        assert_eq!(lease.delivered(&ask.identity.token, HOUR + TRANSITION), Delivery::Gone);
    }

    #[test]
    fn cn_19_at_the_end_it_is_unsubscribed_and_nothing_more_is_asked_for() {
        let mut world = World::new(DAY);
        world.run(HOUR);
        world.lease.end(world.now);
        assert!(!world.lease.has_ended());
        world.run(2 * HOUR);
        assert!(world.lease.has_ended() && world.subscribed.is_empty());
        assert_eq!(world.lease.next(), None);
        let mut refused = World::new(DAY);
        refused.run(HOUR);
        refused.lease.end(refused.now);
        refused.answer = Answer::Refused;
        refused.run(2 * HOUR);
        assert!(refused.lease.has_ended(), "a hub that refuses is not waited for");
    }

    #[test]
    fn a_verification_that_comes_twice_or_before_the_answer_is_confirmed() {
        let mut lease = Lease::new(1);
        let ask = lease.ask(Duration::ZERO, || identity(0)).unwrap();
        for _ in 0..2 {
            assert!(lease.verify(&ask.identity.token, Mode::Subscribe, Some(DAY), SECOND));
        }
        lease.answered(&ask, Answer::Refused, SECOND);
        assert!(lease.is_held(HOUR), "what was verified is held, whatever the hub answers then");
    }
}
