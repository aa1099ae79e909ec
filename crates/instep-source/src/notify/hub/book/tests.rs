//! The book of the hub: subscribers that come, fail, return and leave. Time is an argument.

use super::{
    subscription::{FIRST_WAIT, GIVE_UP_AFTER},
    *,
};

const TOPIC: &str = "http://a/t";

fn key(name: &str) -> Key {
    (TOPIC.to_owned(), format!("http://b/{name}"))
}

fn book(names: &[&str]) -> Book {
    let mut book = Book::default();
    for name in names {
        book.subscribe(key(name), None, i64::MAX);
    }
    book
}

#[test]
fn each_subscriber_gets_each_message_once_and_one_at_a_time() {
    let mut book = book(&["a", "b"]);
    let first = book.publish(TOPIC, 0);
    let second = book.publish(TOPIC, 0);
    assert_eq!(book.take_due(0), [key("a"), key("b")]);
    assert_eq!(book.take_due(0), [] as [Key; 0]);
    assert_eq!(book.in_flight(&key("a")), Some(&[first, second][..]));
    // The two did not fit into one delivery.
    book.carries(&key("a"), 1);
    assert!(book.delivered(&key("a"), DeliveryOutcome::Taken, 0));
    assert_eq!(book.in_flight(&key("a")), Some(&[second][..]));
    assert!(!book.delivered(&key("a"), DeliveryOutcome::Taken, 0));
    assert_eq!(book.take_due(0), [] as [Key; 0]);
}

#[test]
fn w10_a_dead_subscriber_waits_longer_and_longer_and_is_given_up() {
    let mut book = book(&["dead", "live"]);
    book.publish(TOPIC, 0);
    book.take_due(0);
    book.delivered(&key("live"), DeliveryOutcome::Taken, 0);
    let (mut now, mut attempts, mut last_wait) = (0, 0, 0);
    while book.get(&key("dead")).is_some() {
        book.delivered(&key("dead"), DeliveryOutcome::Failed, now);
        let Some(subscription) = book.get(&key("dead")) else { break };
        let wait = subscription.next_attempt - now;
        assert!(wait >= last_wait && wait <= LONGEST_WAIT);
        (now, last_wait, attempts) = (subscription.next_attempt, wait, attempts + 1);
        // The messages of the last hour are kept; a newer one keeps something to deliver.
        book.publish(TOPIC, now);
        assert!(book.take_due(now).contains(&key("dead")));
        book.delivered(&key("live"), DeliveryOutcome::Taken, now);
    }
    assert!(attempts > 70 && now > GIVE_UP_AFTER);
    assert!(book.get(&key("live")).is_some());
}

#[test]
fn o692_a_subscriber_that_failed_before_the_clock_was_set_back_is_tried_again() {
    const YEAR: i64 = 365 * 24 * 3_600 * SECOND;
    let mut book = book(&["a"]);
    let first = book.publish(TOPIC, YEAR);
    book.take_due(YEAR);
    book.delivered(&key("a"), DeliveryOutcome::Failed, YEAR);
    assert_eq!(book.take_due(SECOND), [key("a")], "the clock was set back by a year");
    assert_eq!(book.in_flight(&key("a")), Some(&[first][..]));
    book.delivered(&key("a"), DeliveryOutcome::Failed, SECOND);
    assert_eq!(book.take_due(SECOND), [] as [Key; 0], "it waits as after each failure");
    // Three days of failures by this clock end the subscription.
    let mut now = SECOND;
    while let Some(subscription) = book.get(&key("a")) {
        assert!(now < 2 * GIVE_UP_AFTER, "never given up");
        now = subscription.next_attempt;
        book.publish(TOPIC, now);
        assert_eq!(book.take_due(now), [key("a")]);
        book.delivered(&key("a"), DeliveryOutcome::Failed, now);
    }
}

#[test]
fn o692_a_message_after_the_clock_was_set_back_reaches_a_subscriber_that_had_failed() {
    const YEAR: i64 = 365 * 24 * 3_600 * SECOND;
    let mut book = book(&["a"]);
    book.publish(TOPIC, YEAR);
    book.take_due(YEAR);
    book.delivered(&key("a"), DeliveryOutcome::Failed, YEAR);
    book.topics.clear();
    assert_eq!(book.take_due(0), [] as [Key; 0], "nothing is kept for it");
    book.publish(TOPIC, 0);
    assert_eq!(book.take_due(0), [key("a")]);
}

#[test]
fn messages_that_came_meanwhile_go_together() {
    let mut book = book(&["a"]);
    book.publish(TOPIC, 0);
    book.take_due(0);
    let later: Vec<u64> = (0..MOST_JOINED + 5).map(|_| book.publish(TOPIC, 0)).collect();
    assert_eq!(book.take_due(0), [] as [Key; 0], "one delivery at a time");
    assert!(book.delivered(&key("a"), DeliveryOutcome::Taken, 0));
    assert_eq!(book.in_flight(&key("a")), Some(&later[..MOST_JOINED]));
    book.delivered(&key("a"), DeliveryOutcome::Failed, 0);
    assert_eq!(book.next(), Some(FIRST_WAIT));
    book.publish(TOPIC, 1);
    assert_eq!(book.take_due(FIRST_WAIT - 1), [] as [Key; 0], "a new message brings no earlier attempt");
    assert_eq!(book.take_due(FIRST_WAIT), [key("a")]);
    assert_eq!(book.in_flight(&key("a")), Some(&later[..MOST_JOINED]), "the same again");
}

#[test]
fn an_attempt_that_had_nothing_to_deliver_leaves_later_messages_due() {
    let mut book = book(&["a"]);
    book.publish(TOPIC, 0);
    book.take_due(0);
    book.delivered(&key("a"), DeliveryOutcome::Failed, 0);
    book.topics.clear();
    assert_eq!(book.take_due(FIRST_WAIT), [] as [Key; 0]);
    assert_eq!(book.next(), Some(i64::MAX), "nothing is looked at again and again");
    book.publish(TOPIC, FIRST_WAIT);
    assert_eq!(book.take_due(FIRST_WAIT), [key("a")]);
}

#[test]
fn w10_gone_ends_a_subscription() {
    let mut book = book(&["a"]);
    book.publish(TOPIC, 0);
    book.take_due(0);
    book.delivered(&key("a"), DeliveryOutcome::of(Some(410)), 0);
    assert_eq!(book.get(&key("a")), None);
}

#[test]
fn w4_a_lease_ends_and_a_renewal_keeps_the_place() {
    let mut book = Book::default();
    book.subscribe(key("a"), None, 10);
    book.publish(TOPIC, 0);
    assert_eq!(book.next(), Some(10));
    book.subscribe(key("a"), None, 20);
    assert_eq!(book.expire(10), [] as [Key; 0]);
    assert_eq!(book.take_due(10), [key("a")], "the message from before the renewal is still due");
    assert_eq!(book.expire(20), [key("a")]);
    assert!(
        !book.delivered(&key("a"), DeliveryOutcome::Taken, 20),
        "whoever was in flight is no subscriber any more"
    );
}

#[test]
fn a_long_backlog_collapses_to_the_newest_message() {
    let mut book = book(&["slow"]);
    let mut newest = 0;
    for _ in 0..MOST_KEPT + 10 {
        newest = book.publish(TOPIC, 0);
    }
    book.take_due(0);
    assert_eq!(book.in_flight(&key("slow")), Some(&[newest][..]));
    assert_eq!(book.oldest(), newest - MOST_KEPT as u64 + 1);
}

#[test]
fn an_old_backlog_collapses_to_the_newest_message() {
    let mut book = book(&["slow"]);
    book.publish(TOPIC, 0);
    book.publish(TOPIC, KEPT / 2);
    let newest = book.publish(TOPIC, KEPT * 2 / 3);
    book.take_due(KEPT);
    assert_eq!(book.in_flight(&key("slow")), Some(&[newest][..]));
    book.delivered(&key("slow"), DeliveryOutcome::Failed, KEPT);
    let later = book.publish(TOPIC, KEPT * 3);
    assert_eq!(book.oldest(), later);
    assert_eq!(book.take_due(KEPT * 3), [key("slow")]);
    assert_eq!(book.in_flight(&key("slow")), Some(&[later][..]));
}

#[test]
fn who_subscribed_to_a_topic_that_is_gone_is_parted_from() {
    let mut book = book(&["a"]);
    book.subscribe(("http://a/other".to_owned(), "http://b/a".to_owned()), None, i64::MAX);
    assert_eq!(book.withdraw(|topic| topic != TOPIC), [key("a")]);
    assert_eq!(book.len(), 1);
}

#[test]
fn a_book_that_was_kept_goes_on_where_it_was() {
    let subscription = HubSubscription {
        secret: None,
        expires: i64::MAX,
        cursor: 7,
        failures: 0,
        failing_since: None,
        next_attempt: 0,
    };
    let mut book = Book::restore([(key("a"), subscription)], [(TOPIC.to_owned(), 8, 0)]);
    assert_eq!(book.take_due(0), [key("a")]);
    assert_eq!(book.in_flight(&key("a")), Some(&[8][..]));
    assert_eq!(book.publish(TOPIC, 0), 9);
}
