//! The subscriptions, and the last message that each subscriber got. PURE: time is an argument, in microseconds since
//! 1970; bodies are elsewhere.

mod subscription;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use crate::catalogue::HubSubscription;
pub(super) use subscription::SubscriberCounts;
use subscription::{LONGEST_WAIT, SECOND};

/// The time for which a message is kept for a subscriber that is behind. After an hour the Change List is the better
/// source.
const KEPT: i64 = 3_600 * SECOND;
/// The number of messages of a topic that are kept.
const MOST_KEPT: usize = 1_000;

/// The key of a subscription: its topic and its callback.
pub(super) type Key = (String, String);

/// The result of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryOutcome {
    /// The subscriber answered with a 2xx: it has the message.
    Taken,
    /// The subscriber answered with 410 and is removed.
    Gone,
    /// There was no answer, or one with another status: the delivery is tried again later.
    Failed,
}

impl DeliveryOutcome {
    /// Returns the result for the status of an answer; `None` means no answer.
    pub(super) fn of(status: Option<u16>) -> Self {
        match status {
            Some(200..=299) => Self::Taken,
            Some(410) => Self::Gone,
            _ => Self::Failed,
        }
    }
}

/// The most messages that one delivery carries.
const MOST_JOINED: usize = 32;

/// Consecutive messages of a topic that one delivery carries.
pub(super) type MessageRun = Vec<u64>;

/// Subscriptions and the sequence of messages. Due deliveries are found without reading all subscriptions, because
/// there may be thousands, and this happens for each delivery.
#[derive(Debug, Default)]
pub(super) struct Book {
    subscriptions: BTreeMap<Key, HubSubscription>,
    /// The ends of all leases.
    ends: BTreeSet<(i64, Key)>,
    /// The next attempts of failed deliveries that are not in flight.
    retries: BTreeSet<(i64, Key)>,
    in_flight: BTreeMap<Key, MessageRun>,
    topics: BTreeMap<String, TopicMessages>,
    /// Topics with messages whose subscribers were not checked yet.
    news: BTreeSet<String>,
    last: u64,
}

/// The messages of a topic.
#[derive(Debug, Default)]
struct TopicMessages {
    /// The sequence numbers and times of the stored messages.
    messages: BTreeMap<u64, i64>,
    /// The last message that is no longer stored.
    forgotten: u64,
}

impl Book {
    /// Returns the book as it was stored.
    pub(super) fn restore(
        subscriptions: impl IntoIterator<Item = (Key, HubSubscription)>,
        messages: impl IntoIterator<Item = (String, u64, i64)>,
    ) -> Self {
        let mut book = Self { subscriptions: subscriptions.into_iter().collect(), ..Self::default() };
        for (key, it) in &book.subscriptions {
            book.ends.insert((it.expires, key.clone()));
            if it.failures > 0 {
                book.retries.insert((it.next_attempt, key.clone()));
            }
        }
        for (topic, sequence, at) in messages {
            book.news.insert(topic.clone());
            book.topics.entry(topic).or_default().messages.insert(sequence, at);
            book.last = book.last.max(sequence);
        }
        let forgotten = book.oldest().saturating_sub(1);
        book.topics.values_mut().for_each(|kept| kept.forgotten = forgotten);
        let delivered = book.subscriptions.values().map(|subscription| subscription.cursor).max();
        book.last = book.last.max(delivered.unwrap_or(0));
        book
    }

    /// Moves all times by a step of the clock, ends of leases to `latest` at most. Returns the subscriptions, which have changed.
    pub(super) fn shift(&mut self, step: i64, latest: i64) -> Vec<Key> {
        for it in self.subscriptions.values_mut() {
            it.expires = it.expires.saturating_add(step).min(latest);
            it.failing_since = it.failing_since.map(|since| since.saturating_add(step));
            if it.failures > 0 {
                it.next_attempt = it.next_attempt.saturating_add(step);
            }
        }
        let moved = |(moment, key): (i64, Key)| (moment.saturating_add(step), key);
        self.retries = std::mem::take(&mut self.retries).into_iter().map(moved).collect();
        self.ends = self.subscriptions.iter().map(|(key, it)| (it.expires, key.clone())).collect();
        for at in self.topics.values_mut().flat_map(|kept| kept.messages.values_mut()) {
            *at = at.saturating_add(step);
        }
        self.subscriptions.keys().cloned().collect()
    }

    /// Begins a subscription, or renews one, which keeps its cursor.
    pub(super) fn subscribe(&mut self, key: Key, secret: Option<String>, expires: i64) -> &HubSubscription {
        let newest = self.last;
        let fresh = || HubSubscription {
            secret: None,
            expires,
            cursor: newest,
            failures: 0,
            failing_since: None,
            next_attempt: 0,
        };
        let subscription = self.subscriptions.entry(key.clone()).or_insert_with(fresh);
        self.ends.remove(&(subscription.expires, key.clone()));
        self.ends.insert((expires, key));
        (subscription.secret, subscription.expires) = (secret, expires);
        subscription
    }

    pub(super) fn unsubscribe(&mut self, key: &Key) {
        if let Some(it) = self.subscriptions.remove(key) {
            self.ends.remove(&(it.expires, key.clone()));
            self.retries.remove(&(it.next_attempt, key.clone()));
        }
    }

    /// Ends the subscriptions to topics that are no longer offered, and returns their keys.
    pub(super) fn withdraw(&mut self, is_offered: impl Fn(&str) -> bool) -> Vec<Key> {
        let withdrawn: Vec<Key> =
            self.subscriptions.keys().filter(|(topic, _)| !is_offered(topic)).cloned().collect();
        withdrawn.iter().for_each(|key| self.unsubscribe(key));
        withdrawn
    }

    /// Returns the number of subscriptions.
    pub(super) fn len(&self) -> usize {
        self.subscriptions.len()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&HubSubscription> {
        self.subscriptions.get(key)
    }

    /// Adds a message and returns its sequence number. Messages that are too old or too many are forgotten.
    pub(super) fn publish(&mut self, topic: &str, now: i64) -> u64 {
        self.last += 1;
        let TopicMessages { messages, forgotten } = self.topics.entry(topic.to_owned()).or_default();
        messages.insert(self.last, now);
        self.news.insert(topic.to_owned());
        while let Some((oldest, at)) = messages.first_key_value().map(|(oldest, at)| (*oldest, *at))
            && (is_old(at, now) || messages.len() > MOST_KEPT)
        {
            messages.pop_first();
            *forgotten = oldest;
        }
        self.last
    }

    /// Returns the numbers of subscribers of a topic.
    pub(super) fn subscribers(&self, topic: &str) -> SubscriberCounts {
        SubscriberCounts::of(self.of_topic(topic).map(|(_, subscription)| subscription))
    }

    /// Returns `true` if a topic has a subscriber.
    pub(super) fn has_subscribers(&self, topic: &str) -> bool {
        self.of_topic(topic).next().is_some()
    }

    fn of_topic(&self, topic: &str) -> impl Iterator<Item = (&Key, &HubSubscription)> {
        let from = (topic.to_owned(), String::new());
        self.subscriptions.range(from..).take_while(move |((of, _), _)| of == topic)
    }

    /// Returns the oldest message that is kept.
    pub(super) fn oldest(&self) -> u64 {
        self.topics
            .values()
            .filter_map(|kept| kept.messages.first_key_value())
            .map(|(sequence, _)| *sequence)
            .min()
            .unwrap_or(self.last + 1)
    }

    /// Ends the leases that ran out, and returns their keys.
    pub(super) fn expire(&mut self, now: i64) -> Vec<Key> {
        let over = pop_until(&mut self.ends, now);
        over.iter().for_each(|key| self.unsubscribe(key));
        over
    }

    /// Returns the subscribers with a due delivery. Each is in flight until [`Book::delivered`], so that none gets
    /// two at a time.
    pub(super) fn take_due(&mut self, now: i64) -> Vec<Key> {
        let mut due = pop_until(&mut self.retries, now);
        // No attempt waits that long: the clock was set back since.
        while self.retries.last().is_some_and(|(moment, _)| *moment > now + LONGEST_WAIT) {
            due.extend(self.retries.pop_last().map(|(_, key)| key));
        }
        for topic in std::mem::take(&mut self.news) {
            let waiting = self.of_topic(&topic).filter(|(_, it)| it.is_due(now));
            due.extend(waiting.map(|(key, _)| key.clone()));
        }
        due.retain(|key| !self.in_flight.contains_key(key) && self.begin(key, now).is_some());
        due
    }

    /// Returns the messages in flight to a subscriber.
    pub(super) fn in_flight(&self, key: &Key) -> Option<&[u64]> {
        self.in_flight.get(key).map(Vec::as_slice)
    }

    /// Records that the delivery in flight carries only the first messages of its run.
    pub(super) fn carries(&mut self, key: &Key, count: usize) {
        if let Some(run) = self.in_flight.get_mut(key) {
            run.truncate(count);
        }
    }

    /// Records the result of a delivery. Returns `true` if the next message is in flight to the same subscriber at
    /// once.
    pub(super) fn delivered(&mut self, key: &Key, outcome: DeliveryOutcome, now: i64) -> bool {
        let Some(run) = self.in_flight.remove(key) else { return false };
        let Some(subscription) = self.subscriptions.get_mut(key) else { return false };
        match outcome {
            DeliveryOutcome::Taken => {
                subscription.cursor =
                    run.last().map_or(subscription.cursor, |last| subscription.cursor.max(*last));
                (subscription.failures, subscription.failing_since, subscription.next_attempt) = (0, None, 0);
                self.begin(key, now).is_some()
            }
            DeliveryOutcome::Gone => {
                self.unsubscribe(key);
                false
            }
            DeliveryOutcome::Failed => {
                let is_given_up = subscription.fail(now);
                self.retries.insert((subscription.next_attempt, key.clone()));
                if is_given_up {
                    self.unsubscribe(key);
                }
                false
            }
        }
    }

    /// Returns the next moment at which something is due without a new message: another attempt, or the end of a lease.
    pub(super) fn next(&self) -> Option<i64> {
        let firsts = [self.ends.first(), self.retries.first()];
        firsts.into_iter().flatten().map(|(moment, _)| *moment).min()
    }

    fn begin(&mut self, key: &Key, now: i64) -> Option<()> {
        let run = self.next_messages(key, now)?;
        self.in_flight.insert(key.clone(), run);
        Some(())
    }

    /// Returns the messages after the cursor that one delivery may carry, or only the newest one if the backlog is too
    /// long or too old to be worth delivering.
    fn next_messages(&self, key: &Key, now: i64) -> Option<MessageRun> {
        let cursor = self.subscriptions.get(key)?.cursor;
        let TopicMessages { messages, forgotten } = self.topics.get(&key.0)?;
        let mut after = messages.range(cursor + 1..).peekable();
        let (_, at) = after.peek()?;
        if cursor < *forgotten || is_old(**at, now) {
            return messages.last_key_value().map(|(newest, _)| vec![*newest]);
        }
        Some(after.take(MOST_JOINED).map(|(sequence, _)| *sequence).collect())
    }
}

/// Removes and returns everything due by a time.
fn pop_until(moments: &mut BTreeSet<(i64, Key)>, now: i64) -> Vec<Key> {
    let mut come = Vec::new();
    while moments.first().is_some_and(|(moment, _)| *moment <= now) {
        come.extend(moments.pop_first().map(|(_, key)| key));
    }
    come
}

fn is_old(at: i64, now: i64) -> bool {
    at <= now - KEPT
}

#[cfg(test)]
mod tests;
