//! The values that the decisions are tested with.

use proptest::{prelude::*, strategy::Strategy};
use resourcesync::{DateTime, Digests, Link, Relation, Uri};

use super::super::*;
use crate::{
    map::CopyPath,
    state::{HeldAt, ResourceMetadata},
};

pub(super) const SET: SetId = SetId(3);
pub(super) const KINDS: [ActionKind; 4] =
    [ActionKind::Create, ActionKind::Update, ActionKind::Check, ActionKind::Delete];
pub(super) const OTHER_SETS: [i64; 3] = [1 << 3, 1 << 3 | 1, 1 << 5];

pub(super) fn uri() -> Uri {
    Uri::parse("http://example.com/a").unwrap()
}

pub(super) fn second(second: i64) -> DateTime {
    DateTime::from_unix_seconds(second)
}

/// Returns metadata with a few possible values of each attribute, so that equal ones are frequent. Each may be missing.
pub(super) fn metadata() -> impl Strategy<Value = ResourceMetadata> {
    let digest = prop::option::of(0u8..2);
    (digest, prop::option::of(5u64..7), prop::option::of(10i64..12), prop::option::of(0i64..6), 0usize..2)
        .prop_map(|(digest, length, lastmod, datetime, links)| {
            let mut metadata = ResourceMetadata::new();
            if let Some(digest) = digest {
                metadata.digests = Digests::parse(&format!("md5:{digest:032x}"), |_| {});
            }
            (metadata.length, metadata.lastmod, metadata.datetime) =
                (length, lastmod.map(second), datetime.map(second));
            let link = || Link::new(Relation::DescribedBy, Uri::parse("http://example.com/a.md").unwrap());
            metadata.links = std::iter::repeat_with(link).take(links).collect();
            metadata
        })
}

pub(super) fn presence() -> impl Strategy<Value = DesiredPresence> {
    prop_oneof![
        4 => Just(DesiredPresence::Present),
        1 => Just(DesiredPresence::Unclear),
        2 => Just(DesiredPresence::Absent),
        1 => Just(DesiredPresence::Excluded),
    ]
}

prop_compose! {
    pub(super) fn desired()(presence in presence(), metadata in metadata(), ordinal in 0u64..4, says_when in any::<bool>(), is_appended in any::<bool>()) -> Desired {
        Desired { presence, metadata, ordinal, says_when, is_appended, ..Desired::new(uri()) }
    }
}

prop_compose! {
    pub(super) fn held()(metadata in metadata(), sets in prop::sample::select(&OTHER_SETS[..]), is_racy: bool) -> HeldResource {
        HeldResource { uri: uri(), path: CopyPath::from_state("a").unwrap(), place: HeldAt::Path, metadata, id: 1, sets, is_racy }
    }
}

pub(super) fn action() -> impl Strategy<Value = Action> {
    (prop::sample::select(&KINDS[..]), desired()).prop_map(|(kind, desired)| Action::new(kind, desired))
}

prop_compose! {
    pub(super) fn rules()(delete in any::<bool>(), all in any::<bool>(), time in prop::option::of(0i64..6), undated in any::<bool>(), was_applied in any::<bool>())
        -> DecisionRules {
        let links = if all { LinksNamed::All } else { LinksNamed::Some };
        let is_undated = undated && time.is_none();
        DecisionRules { set: SET, delete, links, inventory: time.map(second), is_undated, was_applied }
    }
}
