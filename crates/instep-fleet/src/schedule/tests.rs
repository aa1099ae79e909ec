//! The schedule, by properties and by a simulation of a fleet with a clock of its own.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::{Cadence, LookVerdict, Pacing, PacingRules, SourceQueue};

const RULES: PacingRules = PacingRules {
    shortest: 900,
    longest: 30 * 86_400,
    longest_backoff: 86_400,
    quarantine_after: 8,
    quarantine: 7 * 86_400,
};

fn verdict() -> impl Strategy<Value = LookVerdict> {
    prop_oneof![
        Just(LookVerdict::Changed),
        Just(LookVerdict::Unchanged),
        Just(LookVerdict::Behind),
        Just(LookVerdict::More),
        Just(LookVerdict::Failed),
        Just(LookVerdict::Blocked),
        Just(LookVerdict::Outage),
    ]
}

fn cadence() -> impl Strategy<Value = Cadence> {
    prop_oneof![
        Just(Cadence::Adaptive),
        (1_u64..10_000_000).prop_map(|seconds| Cadence::Every { seconds }),
        vec(0_u16..1_440, 1..5).prop_map(|minutes| Cadence::At { minutes }),
    ]
}

proptest! {
    #[test]
    fn a_source_is_never_due_in_the_past_nor_beyond_the_bounds(
        cadence in cadence(), verdicts in vec((verdict(), any::<u64>()), 1..60)
    ) {
        let mut now = 1_800_000_000;
        let mut pacing = Pacing::new(now, &RULES);
        for (verdict, seed) in verdicts {
            let before = pacing;
            pacing = pacing.after(verdict, &cadence, &RULES, (now, seed));
            prop_assert!((RULES.shortest..=RULES.longest).contains(&pacing.interval));
            prop_assert!(pacing.due > now || (verdict == LookVerdict::More && pacing.due == now));
            let own = if let Cadence::Every { seconds } = cadence { seconds } else { 0 };
            let longest = RULES.longest.max(own) as i64;
            prop_assert!(pacing.due - now <= longest + longest / 10 + 86_400);
            let is_well = !matches!(verdict, LookVerdict::Failed | LookVerdict::Blocked | LookVerdict::Outage);
            if verdict == LookVerdict::Outage {
                prop_assert_eq!((pacing.failures, pacing.interval), (before.failures, before.interval));
            } else {
                prop_assert_eq!(pacing.failures == 0, is_well);
            }
            prop_assert!(!(is_well && pacing.quarantined), "one good look ends the quarantine");
            now = pacing.due;
        }
    }

    #[test]
    fn the_queue_keeps_its_limits_and_loses_no_source(
        steps in vec((0_u8..4, 0_u8..40, 0_u8..5, -5_i8..5, any::<bool>()), 1..300)
    ) {
        let (mut queue, mut now) = (SourceQueue::new(6, 2), 0);
        let (mut known, mut running) = (BTreeMap::new(), BTreeMap::new());
        for (step, key, host, priority, is_new) in steps {
            let host = format!("host{host}");
            match step {
                0 | 1 => {
                    if !running.contains_key(&key) {
                        queue.put(key, &host, now + i64::from(key), priority, is_new);
                        known.insert(key, host);
                    }
                }
                2 => {
                    now += 7;
                    if let Some(taken) = queue.next(now) {
                        let host = known.remove(&taken);
                        prop_assert!(running.insert(taken, host.unwrap()).is_none());
                    }
                }
                _ => if let Some((done, _)) = running.pop_first() { queue.done(&done) },
            }
            prop_assert!(running.len() <= 6);
            prop_assert_eq!(queue.running(), running.len());
            for host in running.values() {
                prop_assert!(running.values().filter(|of| *of == host).count() <= 2);
            }
        }
        // Everything that was put in and not taken out comes out.
        let mut left: BTreeSet<u8> = known.into_keys().collect();
        for done in running.into_keys() {
            queue.done(&done);
        }
        while let Some(key) = queue.next(i64::MAX) {
            prop_assert!(left.remove(&key));
            queue.done(&key);
        }
        prop_assert!(left.is_empty(), "{left:?}");
        prop_assert!(queue.is_forgotten());
    }
}

#[test]
fn a_source_that_changes_is_looked_at_more_often_and_a_quiet_one_less() {
    let mut pacing = Pacing::new(0, &RULES);
    let quiet: Vec<_> = (0..40)
        .map(|_| {
            pacing = pacing.after(LookVerdict::Unchanged, &Cadence::Adaptive, &RULES, (0, 0));
            pacing.interval
        })
        .collect();
    assert_eq!(quiet[0], 1_350);
    assert!(quiet.is_sorted() && quiet.last() == Some(&RULES.longest));
    pacing = pacing.after(LookVerdict::Changed, &Cadence::Adaptive, &RULES, (0, 0));
    assert_eq!(pacing.interval, RULES.longest / 2);
}

#[test]
fn o744_an_interval_of_one_second_grows_too() {
    let rules = PacingRules { shortest: 1, ..RULES };
    let mut pacing = Pacing::new(0, &rules);
    let mut intervals = Vec::new();
    for _ in 0..5 {
        pacing = pacing.after(LookVerdict::Unchanged, &Cadence::Adaptive, &rules, (0, 0));
        intervals.push(pacing.interval);
    }
    assert_eq!(intervals, [2, 3, 5, 8, 12]);
}

#[test]
fn a_source_that_fails_is_left_alone_for_longer_then_in_quarantine_and_comes_back() {
    let mut pacing = Pacing::new(0, &RULES);
    let mut pauses = Vec::new();
    for _ in 0..9 {
        pacing = pacing.after(LookVerdict::Failed, &Cadence::Adaptive, &RULES, (0, 0));
        pauses.push(pacing.due);
    }
    assert_eq!(pauses, [900, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600, 604_800, 604_800]);
    assert!(pacing.quarantined);
    // A full disk of ours is no reason for quarantine.
    let mut blocked = Pacing::new(0, &RULES);
    for _ in 0..20 {
        blocked = blocked.after(LookVerdict::Blocked, &Cadence::Adaptive, &RULES, (0, 0));
    }
    assert!(!blocked.quarantined && blocked.due == 86_400);
    let well = pacing.after(LookVerdict::Unchanged, &Cadence::Adaptive, &RULES, (0, 0));
    assert!(!well.quarantined && well.failures == 0);
}

#[test]
fn o723_a_source_that_is_seldom_visited_is_tried_again_a_day_after_a_failure() {
    let pause = |seconds| {
        let every = Cadence::Every { seconds };
        Pacing::new(0, &RULES).after(LookVerdict::Failed, &every, &RULES, (0, 0)).due
    };
    assert_eq!([60, 3_600, 30 * 86_400].map(pause), [60, 3_600, 86_400]);
}

#[test]
fn times_of_the_day_are_met_once() {
    let cadence = Cadence::At { minutes: vec![15 * 60, 3 * 60 + 30] };
    let midnight = 20_000 * 86_400;
    let due = |now| {
        Pacing::new(now, &RULES).after(LookVerdict::Unchanged, &cadence, &RULES, (now, 0)).due - midnight
    };
    assert_eq!(due(midnight), 12_600);
    assert_eq!(due(midnight + 12_600), 54_000, "the time that has just come is over");
    assert_eq!(due(midnight + 54_000), 86_400 + 12_600);
}

/// Looks at all Sources once, each for a second, and returns how long each waited.
fn simulate(queue: &mut SourceQueue<u32>, all: u32, until: i64) -> Vec<i64> {
    let (mut waited, mut running) = (vec![i64::MAX; all as usize], Vec::new());
    for now in 0..until {
        running.drain(..).for_each(|key| queue.done(&key));
        while let Some(key) = queue.next(now) {
            waited[key as usize] = now;
            running.push(key);
        }
    }
    waited
}

#[test]
fn of_ten_thousand_sources_none_waits_over_twice_the_mean() {
    let mut queue = SourceQueue::new(100, 8);
    for key in 0..10_000 {
        // Half are new, and hosts have 1 to 100 Sources.
        let host = format!("host{}", (key as f64).sqrt() as u32);
        queue.put(key, &host, 0, 0, key % 2 == 0);
    }
    let waited = simulate(&mut queue, 10_000, 1_000);
    let mean = waited.iter().sum::<i64>() / 10_000;
    let most = waited.iter().max().copied().unwrap_or_default();
    // In the order of arrival the last one waits twice the mean; a turn more or less is no unfairness.
    assert!(most <= 2 * mean + mean / 20 + 2, "one waited {most} s, the mean is {mean} s");
}

#[test]
fn a_host_with_thousands_of_sources_does_not_keep_others_waiting() {
    let mut queue = SourceQueue::new(8, 4);
    (0..5_000).for_each(|key| queue.put(key, "https://large.example", 0, 0, false));
    (5_000..5_100).for_each(|key| queue.put(key, &format!("https://small{key}.example"), 0, 0, false));
    let waited = simulate(&mut queue, 5_100, 60);
    let most = waited[5_000..].iter().max().copied().unwrap_or_default();
    assert!(most <= 30, "a small host waited {most} s");
}

#[test]
fn half_of_the_slots_are_for_sources_never_visited_and_none_stays_empty() {
    let mut queue = SourceQueue::new(10, 1);
    (0..100).for_each(|key| queue.put(key, &format!("host{key}"), -1_000, 0, false));
    (100..200).for_each(|key| queue.put(key, &format!("host{key}"), 0, 0, true));
    let first: Vec<_> = std::iter::from_fn(|| queue.next(0)).collect();
    assert_eq!((first.len(), first.iter().filter(|key| **key >= 100).count()), (10, 5));
    first.iter().for_each(|key| queue.done(key));
    (100..200).for_each(|key| queue.remove(&key));
    assert_eq!(std::iter::from_fn(|| queue.next(0)).count(), 10, "no slot is kept for what is not there");
}

#[test]
fn a_higher_priority_counts_as_waiting_and_starves_nobody() {
    let mut queue = SourceQueue::new(1, 1);
    queue.put("late", "host", 0, 0, false);
    queue.put("urgent", "host", 600, 3, false);
    queue.put("patient", "host", 0, -10, false);
    let order: Vec<_> = std::iter::from_fn(|| {
        let key = queue.next(1_000)?;
        queue.done(&key);
        Some(key)
    })
    .collect();
    assert_eq!(order, ["urgent", "late", "patient"]);
}
