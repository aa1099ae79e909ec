//! A subscription in simulated time.

use std::collections::BTreeMap;

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const WANTED: Duration = Duration::from_secs(10 * 24 * 3_600);

/// A hub and its subscriber in simulated time.
struct World {
    lease: Lease,
    now: Duration,
    /// The lease that it grants, whatever is requested.
    grants: Duration,
    /// Tokens with the end of their leases.
    subscribed: BTreeMap<String, Duration>,
    asked: Vec<(Duration, Ask)>,
    answer: HubAnswer,
    verifies: bool,
}

impl World {
    fn new(grants: Duration) -> Self {
        Self {
            lease: Lease::new(1, WANTED),
            now: Duration::ZERO,
            grants,
            subscribed: BTreeMap::new(),
            asked: Vec::new(),
            answer: HubAnswer::Accepted,
            verifies: true,
        }
    }

    /// Lets time pass until then, and sends each request of the subscriber.
    fn run(&mut self, until: Duration) {
        loop {
            while let Some(ask) = self.lease.ask(self.now, || identity(self.asked.len())) {
                self.asked.push((self.now, ask.clone()));
                self.lease.answered(&ask, self.answer, self.now);
                if self.answer == HubAnswer::Accepted && self.verifies {
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

    /// Returns `true` if a message published now reaches the subscriber.
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
        assert!(world.is_reached() && world.lease.expires(world.now).is_some(), "hour {hour}");
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
    world.answer = HubAnswer::Failed;
    world.run(2 * DAY);
    assert!(world.lease.expires(world.now).is_none() && !world.is_reached());
    let attempts = world.asked.len();
    assert!((100..400).contains(&attempts), "{attempts}: often enough, and not more");
    world.answer = HubAnswer::Accepted;
    world.run(2 * DAY + PAUSES.1);
    assert!(world.lease.expires(world.now).is_some() && world.is_reached());
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
    let mut lease = Lease::new(1, WANTED);
    let first = lease.ask(Duration::ZERO, || identity(0)).unwrap();
    assert_eq!(first.lease, Some(WANTED));
    lease.answered(&first, HubAnswer::Refused, Duration::ZERO);
    let second = lease.ask(Duration::ZERO, || identity(1)).unwrap();
    assert_eq!(second.lease, None);
}

#[test]
fn another_hub_is_tried_after_a_failure() {
    let mut lease = Lease::new(2, WANTED);
    let first = lease.ask(Duration::ZERO, || identity(0)).unwrap();
    lease.answered(&first, HubAnswer::Failed, Duration::ZERO);
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
    assert!(world.lease.expires(world.now).is_none());
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
    let mut lease = Lease::new(1, WANTED);
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
    refused.answer = HubAnswer::Refused;
    refused.run(2 * HOUR);
    assert!(refused.lease.has_ended(), "a hub that refuses is not waited for");
}

#[test]
fn a_verification_that_comes_twice_or_before_the_answer_is_confirmed() {
    let mut lease = Lease::new(1, WANTED);
    let ask = lease.ask(Duration::ZERO, || identity(0)).unwrap();
    for _ in 0..2 {
        assert!(lease.verify(&ask.identity.token, Mode::Subscribe, Some(DAY), SECOND));
    }
    lease.answered(&ask, HubAnswer::Refused, SECOND);
    assert!(lease.expires(HOUR).is_some(), "what was verified is held, whatever the hub answers then");
}
