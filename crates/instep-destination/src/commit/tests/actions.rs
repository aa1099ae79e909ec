//! The actions of a plan, kept beside the state.

use crate::{
    plan::{Desired, Retrieval},
    state::{Action, ActionKind, Actions},
};
use resourcesync::{DateTime, Digests, Link, MediaType, Relation};

use super::bench::uri;

fn name(number: u16) -> String {
    format!("http://h/{number:05}")
}

#[test]
fn actions_come_back_in_their_order_and_by_their_uri() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan.sqlite");
    let mut actions = Actions::create(&path).unwrap();
    for number in (0..10_u16).rev() {
        let mut desired = Desired::new(uri(&name(number)));
        desired.metadata.length = Some(number.into());
        desired.metadata.lastmod = DateTime::parse("2013").ok();
        desired.metadata.datetime = DateTime::parse("2013-01-03T09:00:00.25+01:00").ok();
        desired.metadata.digests = Digests::parse("md5:1584abdf8ebdc9802ac0c6a7402c03b6", |_| {});
        desired.metadata.etag = Some("\"x\"".into());
        desired.metadata.media_type = Some(MediaType::new("text/plain"));
        desired.metadata.links = vec![Link::new(Relation::Via, uri("http://o/x"))];
        desired
            .set_retrieval(Retrieval { timegate: Some("http://o/gate".to_owned()), ..Retrieval::default() });
        let kind = if number % 2 == 0 { ActionKind::Create } else { ActionKind::Delete };
        actions.push(&Action::new(kind, desired.clone())).unwrap();
        assert_eq!(actions.for_uri(&name(number)).unwrap().unwrap().desired, desired);
    }
    let first = actions.after(0, 3).unwrap();
    let uris: Vec<_> = first.iter().map(|action| action.desired.uri.to_string()).collect();
    assert_eq!(uris, [name(9), name(8), name(7)]);
    assert_eq!(first[0].desired.retrieval().timegate.as_deref(), Some("http://o/gate"));
    let deletions = actions.of_kind_after(ActionKind::Delete, first[2].sequence, 10).unwrap();
    assert_eq!(deletions.len(), 3);
    assert_eq!(actions.totals(ActionKind::Create), (5, 20));
    assert_eq!((actions.remove(&name(8)).unwrap(), actions.remove(&name(8)).unwrap()), (1, 0));
    assert!(actions.for_uri(&name(8)).unwrap().is_none());
    assert_eq!(actions.for_uri(&name(7)).unwrap().unwrap().kind, ActionKind::Delete);
    assert_eq!(actions.totals(ActionKind::Create), (4, 12));
    actions.forget_after(4).unwrap();
    assert_eq!(actions.totals(ActionKind::Create), (1, 6));
    assert_eq!(actions.totals(ActionKind::Delete), (2, 16));
    drop(actions);
    assert!(!path.exists());
}

#[test]
fn o861_lengths_that_no_disk_has_do_not_end_a_plan() {
    let dir = tempfile::tempdir().unwrap();
    let mut actions = Actions::create(&dir.path().join("plan.sqlite")).unwrap();
    for (number, length) in (0..).zip([1, u64::MAX, i64::MAX.cast_unsigned(), i64::MAX.cast_unsigned(), 3]) {
        let mut desired = Desired::new(uri(&name(number)));
        desired.metadata.length = Some(length);
        actions.push(&Action::new(ActionKind::Create, desired)).unwrap();
    }
    actions.forget_after(4).unwrap();
    let (count, bytes) = actions.totals(ActionKind::Create);
    assert!(count == 4 && bytes >= i64::MAX.cast_unsigned(), "{count} of {bytes} bytes");
    let second = actions.for_uri(&name(1)).unwrap().unwrap();
    assert_eq!(second.desired.metadata.length, Some(u64::MAX), "the length itself stays");
    actions.forget_after(1).unwrap();
    assert_eq!(actions.totals(ActionKind::Create), (1, 1));
}
