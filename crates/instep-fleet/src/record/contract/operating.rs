//! Actions of operators on several Sources, and definitions that are damaged or about another copy.

use super::support::{TestFleet, name, operate, source, worker};
use crate::{
    FleetError, SourceOperation,
    record::{Claim, LookEnding},
    standing::SourceStanding,
};

pub(super) fn o268_an_action_is_done_on_all_named_sources_or_on_none(at: &TestFleet) {
    let mut record = at.open();
    record.add(&[source("a"), source("b"), source("c")], 0).unwrap();
    operate(&mut record, SourceOperation::Pause, "b").unwrap();
    let names = ["a", "b", "c"].map(name);
    let error = record.operate(SourceOperation::Run, &names, ("ada", 2)).unwrap_err();
    assert!(matches!(&error, FleetError::Unfit { name, .. } if *name == names[1]), "{error}");
    assert!(record.sources().unwrap().iter().all(|source| !source.standing.wanted));
    let unknown = [name("a"), name("d")];
    let error = record.operate(SourceOperation::Forget, &unknown, ("ada", 3)).unwrap_err();
    assert!(matches!(&error, FleetError::Unknown { name } if *name == unknown[1]), "{error}");
    assert_eq!(record.sources().unwrap().len(), 3);
    assert_eq!(record.actions(i64::MAX, 9).unwrap().len(), 1, "the pause");
    record.operate(SourceOperation::Forget, &names, ("ada", 4)).unwrap();
    assert_eq!(record.sources().unwrap(), []);
    let lines = record.actions(i64::MAX, 9).unwrap();
    let first = lines.first().map(|line| (line.at, &*line.who, &*line.what, line.source.as_deref()));
    assert_eq!((lines.len(), first), (4, Some((4, "ada", "forget", Some("c")))));
}

pub(super) fn o269_a_damaged_definition_is_named_and_can_be_removed_or_configured_again(at: &TestFleet) {
    let mut record = at.open();
    record.add(&[source("a"), source("ours")], 0).unwrap();
    record.configure(&[source("of-file")], 0).unwrap();
    for (damaged, others) in [("ours", 2), ("of-file", 1)] {
        let sql = "UPDATE source SET definition = '{', changed = {next} WHERE name = $1";
        record.engine.execute(sql, &[damaged.into()]).unwrap();
        let error = record.sources().unwrap_err().to_string();
        assert!(error.contains(&format!("Source {damaged}: a definition cannot be read")), "{error}");
        assert!(error.contains("remove it with"), "{error}");
        if damaged == "ours" {
            operate(&mut record, SourceOperation::Forget, damaged).unwrap();
        } else {
            record.configure(&[source("of-file")], 1).unwrap();
            assert_eq!(record.source(&name("of-file")).unwrap().definition, source("of-file"));
            record.configure(&[], 2).unwrap();
        }
        assert_eq!(record.sources().unwrap().len(), others);
    }
}

pub(super) fn o745_a_definition_of_a_newer_version_is_not_to_be_removed(at: &TestFleet) {
    let mut record = at.open();
    record.add(&[source("a")], 0).unwrap();
    let sql = r#"UPDATE source SET definition = '{"name":"a","url":"https://a.example/","mood":"good"}',
                 changed = {next} WHERE name = $1"#;
    record.engine.execute(sql, &["a".into()]).unwrap();
    let error = record.sources().unwrap_err().to_string();
    assert!(error.contains("Source a: ") && error.contains("of a newer version of instep"), "{error}");
    assert!(!error.contains("remove it"), "{error}");
}

pub(super) fn o270_a_source_with_another_url_or_folder_is_a_new_one(at: &TestFleet) {
    let mut record = at.open();
    record.register(&worker(1)).unwrap();
    let mut of_file = source("a");
    of_file.approve = true;
    record.configure(&[of_file.clone()], 0).unwrap();
    let mut number = 0;
    let mut changed_by = |change: &dyn Fn(&mut crate::SourceDefinition)| -> SourceStanding {
        number += 10;
        operate(&mut record, SourceOperation::Approve, "a").unwrap();
        let hold = record.source(&name("a")).unwrap().hold;
        let claim = record.claim(1, (&name("a"), hold.epoch), ("https://a.example", 4), number).unwrap();
        let Claim::Taken(held) = claim else { panic!("it is free") };
        let mut standing = held.standing.clone();
        (standing.success, standing.held, standing.in_step) = (Some(number), 7, true);
        let (name, hold) = (name("a"), held.hold);
        let ending = LookEnding { name, hold, standing, sample: None, alert: None, survey: None };
        record.finish(&ending).unwrap().unwrap();
        operate(&mut record, SourceOperation::Pause, "a").unwrap();
        change(&mut of_file);
        record.configure(&[of_file.clone()], number + 1).unwrap();
        let standing = record.source(&of_file.name).unwrap().standing;
        operate(&mut record, SourceOperation::Resume, "a").unwrap();
        standing
    };
    let same = [
        changed_by(&|source| source.delete = true),
        changed_by(&|source| source.url = "HTTPS://a.example:443/".to_owned()),
        changed_by(&|source| source.into = Some("a".into())),
    ];
    for standing in same {
        assert!(standing.approved && standing.held == 7 && standing.paused, "{standing:?}");
    }
    let other = [
        changed_by(&|source| source.url = "https://b.example/".to_owned()),
        changed_by(&|source| source.into = Some("b".into())),
    ];
    for standing in other {
        assert!(!standing.approved && standing.added > 30 && standing.held == 0, "{standing:?}");
        assert!(standing.success.is_none() && standing.paused, "the pause is the operator's: {standing:?}");
    }
}

#[cfg(feature = "postgres")]
pub(super) fn o271_a_fleet_has_no_copy_or_source_in_the_url_of_its_state(at: &TestFleet) {
    let url = at.place.state.clone().unwrap();
    for (opened, name) in [(true, "copy"), (false, "copy"), (true, "source")] {
        let place = at.place.clone().with_state(Some(format!("{url}&{name}=x")));
        let record =
            if opened { crate::FleetRecord::open(&place) } else { crate::FleetRecord::existing(&place) };
        let error = record.unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains("names its copies itself"), "{error}");
    }
}
