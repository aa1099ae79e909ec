//! The way that is chosen, by what a Source offers and what the copy holds.

use super::*;

fn time(second: i64) -> DateTime {
    DateTime::from_unix_seconds(second)
}

fn of_50_000() -> Situation {
    Situation {
        list: true,
        resources: Some(50_000),
        latency: Duration::from_millis(1),
        transfers: 16,
        ..Situation::default()
    }
}

#[test]
fn the_way_follows_from_the_situation() {
    let held = Situation { holds: true, checkpoint: Some(time(50)), ..of_50_000() };
    let table = [
        ("nothing held", of_50_000(), Strategy::List),
        (
            "changes reach back",
            Situation { changes: Some(Reach::Covered), ..held.clone() },
            Strategy::Changes,
        ),
        (
            "a gap",
            Situation { changes: Some(Reach::Gap { earliest: time(60) }), ..held.clone() },
            Strategy::List,
        ),
        ("no change list", held.clone(), Strategy::List),
        ("many small ones, nothing held", Situation { dump: true, ..of_50_000() }, Strategy::Dump),
        ("many small ones by batch", Situation { batch: true, ..of_50_000() }, Strategy::Batch),
        ("a few", Situation { dump: true, resources: Some(10), ..of_50_000() }, Strategy::List),
        ("only a dump", Situation { list: false, dump: true, ..of_50_000() }, Strategy::Dump),
        (
            "change dumps reach back where the lists do not",
            Situation {
                changes: Some(Reach::Gap { earliest: time(60) }),
                change_dumps: Some(Reach::Covered),
                ..held.clone()
            },
            Strategy::ChangeDump,
        ),
        ("no inventory", Situation { list: false, offers_changes: true, ..of_50_000() }, Strategy::Changes),
        ("as asked", Situation { via: Via::Dump, dump: true, ..held }, Strategy::Dump),
    ];
    for (name, situation, expected) in table {
        assert_eq!(choose(&situation).unwrap().strategy, expected, "{name}");
    }
}

#[test]
fn changes_come_by_package_where_that_saves_time() {
    let many = Situation { resources: Some(20_000), bytes: Some(20 << 20), ..of_50_000() };
    let few = Situation { resources: Some(20), bytes: Some(20 << 10), ..of_50_000() };
    assert_eq!(carrier_of_changes(&many, Some((3, 60 << 20))), Strategy::ChangeDump);
    assert_eq!(carrier_of_changes(&many, None), Strategy::Changes);
    assert_eq!(carrier_of_changes(&many, Some((3, 60 << 30))), Strategy::Changes);
    assert_eq!(carrier_of_changes(&few, Some((3, 60 << 20))), Strategy::Changes);
    assert!(could_pay(&many) && !could_pay(&few));
}

#[test]
fn a_gap_is_the_reason_that_is_stated() {
    let situation = Situation {
        holds: true,
        checkpoint: Some(time(50)),
        changes: Some(Reach::Gap { earliest: time(60) }),
        ..of_50_000()
    };
    let reason = choose(&situation).unwrap().reason;
    assert!(reason.starts_with("a gap: the copy is of 1970-01-01T00:00:50Z"), "{reason}");
    assert!(choose(&Situation { via: Via::Changes, ..situation }).is_err());
}
