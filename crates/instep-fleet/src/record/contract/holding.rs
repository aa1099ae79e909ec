//! Workers hold Sources: each Source has one worker at a time, and is free again if that worker is removed.

use super::support::{TestFleet, name, operate, source, worker};
use crate::{
    Alert, AlertKind, FleetRecord, SourceOperation,
    record::{Claim, LookEnding},
    standing::FleetSource,
};

pub(super) fn claimed(record: &FleetRecord, worker: i64, of: &str, epoch: i64) -> Option<FleetSource> {
    match record.claim(worker, (&name(of), epoch), ("https://host.example", 8), 5).unwrap() {
        Claim::Taken(source) => Some(*source),
        Claim::NotFree(_) | Claim::HostFull | Claim::Removed => None,
    }
}

pub(super) fn ending(of: &FleetSource) -> LookEnding {
    let mut standing = of.standing.clone();
    (standing.due, standing.ended, standing.held) = (1_000, Some(9), 3);
    LookEnding {
        name: of.definition.name.clone(),
        hold: of.hold,
        standing,
        sample: None,
        alert: None,
        survey: None,
    }
}

/// Returns two workers, and a Source.
pub(super) fn two(at: &TestFleet) -> [FleetRecord; 2] {
    let [mut one, two] = [at.open(), at.open()];
    one.add(&[source("a")], 0).unwrap();
    one.register(&worker(1)).unwrap();
    two.register(&worker(2)).unwrap();
    // As if the answer was lost: the call is repeated.
    two.register(&worker(2)).unwrap();
    assert_eq!(one.workers().unwrap().len(), 2);
    [one, two]
}

pub(super) fn a_source_is_held_by_one_worker_and_its_looks_end_once(at: &TestFleet) {
    let [one, two] = two(at);
    let held = claimed(&one, 1, "a", 0).unwrap();
    assert_eq!((held.hold.worker, held.hold.epoch, held.standing.began), (Some(1), 1, Some(5)));
    for epoch in [0, 1] {
        assert!(claimed(&two, 2, "a", epoch).is_none());
    }
    let ended = one.finish(&ending(&held)).unwrap().unwrap();
    assert_eq!((ended.hold.worker, ended.standing.held, ended.standing.due), (None, 3, 1_000));
    assert!(one.finish(&ending(&held)).unwrap().is_none(), "it ended already");
    let held = claimed(&two, 2, "a", 1).unwrap();
    assert_eq!(held.hold.epoch, 2);
    two.give_back(&name("a"), held.hold).unwrap();
    assert!(two.finish(&ending(&held)).unwrap().is_none(), "it was given back");
    assert_eq!(two.source(&name("a")).unwrap().hold.worker, None);
}

pub(super) fn what_a_dead_worker_held_is_free_and_the_dead_can_do_nothing(at: &TestFleet) {
    let [mut one, two] = two(at);
    one.add(&[source("b")], 0).unwrap();
    let held = claimed(&one, 1, "a", 0).unwrap();
    assert!(two.remove_worker(1, Some(0)).unwrap());
    assert!(!two.remove_worker(1, Some(0)).unwrap());
    assert!(!one.beat(1, 1, None).unwrap());
    assert!(matches!(one.claim(1, (&name("b"), 0), ("https://host.example", 8), 5).unwrap(), Claim::Removed));
    assert!(one.finish(&ending(&held)).unwrap().is_none());
    let again = claimed(&two, 2, "a", 1).unwrap();
    assert!(one.finish(&ending(&held)).unwrap().is_none());
    one.give_back(&name("a"), held.hold).unwrap();
    assert_eq!(two.source(&name("a")).unwrap().hold, again.hold);
    assert!(two.finish(&ending(&again)).unwrap().is_some());
}

pub(super) fn o441_a_requested_look_that_does_not_end_is_due_since_it_began(at: &TestFleet) {
    let [mut one, two] = two(at);
    let due = || two.source(&name("a")).unwrap().standing.due;
    for epoch in [0, 2] {
        let held = claimed(&one, 1, "a", epoch).unwrap();
        one.finish(&ending(&held)).unwrap().unwrap();
        assert_eq!(due(), 1_000);
        operate(&mut one, SourceOperation::Run, "a").unwrap();
        let held = claimed(&one, 1, "a", epoch + 1).unwrap();
        assert!(!held.standing.wanted);
        if epoch == 0 {
            one.give_back(&name("a"), held.hold).unwrap();
        } else {
            assert!(two.remove_worker(1, Some(0)).unwrap());
        }
        assert_eq!(due(), 5);
    }
}

pub(super) fn a_worker_that_beats_is_not_removed(at: &TestFleet) {
    let [one, two] = two(at);
    assert!(one.beat(1, 7, Some("http://here/")).unwrap());
    assert!(!two.remove_worker(1, Some(0)).unwrap(), "its beat was seen before that");
    let seen = two.workers().unwrap();
    assert_eq!((seen[0].beat, seen[0].running, seen[0].url.as_deref()), (1, 7, Some("http://here/")));
    assert!(one.remove_worker(1, None).unwrap());
    assert_eq!(two.workers().unwrap().len(), 1);
}

pub(super) fn o162_an_alert_is_sent_by_one_worker(at: &TestFleet) {
    let [one, two] = two(at);
    let held = claimed(&one, 1, "a", 0).unwrap();
    let alert = Alert {
        source: name("a"),
        url: "https://a.example/".to_owned(),
        kind: AlertKind::Refused,
        text: "no".to_owned(),
        at: 9,
    };
    one.finish(&LookEnding { alert: Some(alert.clone()), ..ending(&held) }).unwrap().unwrap();
    // The alert is younger than those that are left to this worker (O715).
    assert!(two.take_alerts(2, 8, 9).unwrap().1.is_empty());
    let (last, taken) = one.take_alerts(1, i64::MAX, 9).unwrap();
    assert_eq!(taken, [(last, alert)]);
    assert!(two.take_alerts(2, i64::MAX, 9).unwrap().1.is_empty());
    // Killed before it was sent.
    assert!(two.remove_worker(1, Some(0)).unwrap());
    // It was only stopped for a while: what a removed worker took would never be sent.
    assert!(one.take_alerts(1, i64::MAX, 9).unwrap().1.is_empty());
    assert_eq!(two.take_alerts(2, i64::MAX, 9).unwrap(), (last, taken));
    two.alerts_sent(2, last).unwrap();
    assert!(two.take_alerts(2, i64::MAX, 9).unwrap().1.is_empty());
}

pub(super) fn what_is_paused_or_changed_is_not_claimed(at: &TestFleet) {
    let [mut one, two] = two(at);
    operate(&mut one, SourceOperation::Pause, "a").unwrap();
    assert!(claimed(&two, 2, "a", 0).is_none());
    operate(&mut one, SourceOperation::Resume, "a").unwrap();
    operate(&mut one, SourceOperation::Run, "a").unwrap();
    let before = one.source(&name("a")).unwrap().hold.changed;
    two.hasten(&name("a"), -7).unwrap();
    let hastened = one.source(&name("a")).unwrap();
    assert!(hastened.standing.due == -7 && hastened.hold.changed > before && hastened.standing.wanted);
    two.hasten(&name("a"), 100).unwrap();
    let held = claimed(&two, 2, "a", 0).unwrap();
    assert_eq!((held.standing.due, held.standing.wanted), (-7, false));
    operate(&mut one, SourceOperation::Run, "a").unwrap();
    let ended = two.finish(&ending(&held)).unwrap().unwrap();
    assert!(ended.standing.wanted, "a wish of meanwhile stays");
}
