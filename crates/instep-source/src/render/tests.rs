//! Tests of the documents that each publication writes, from small sets and from random histories.

mod archives;
mod sizes;
mod source;

use std::{collections::BTreeSet, time::Duration};

use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use resourcesync::{Capability, Change, Form, Relation, xml::SpecVersion};

use super::{Before, Omissions, SetView, SourcePolicy, host_setup, render};
use crate::{Archives, Error, LinkRule, PublishOptions, SetOptions, records::ArchivedDocuments, sink::Sink};
use source::{Source, TestSet, read};

const FIRST: [&str; 7] = [
    "about.html",
    "resourcelist.xml",
    "changelist-000001.xml",
    "changelist.xml",
    "capabilitylist.xml",
    ".well-known/resourcesync",
    "robots.txt",
];

#[test]
fn the_first_publication_writes_every_document_and_an_empty_open_change_list() {
    let mut source = Source::new(TestSet::of(&["a", "b%20c"]), |_| {});
    let mut written = source.publish();
    let order: Vec<_> = FIRST.into_iter().collect();
    written.sort_by_key(|name| order.iter().position(|it| it == name));
    assert_eq!(written, order);
    let mut all = String::new();
    for (name, bytes) in &source.sink.documents {
        all.push_str(&format!("== {name}\n{}\n", String::from_utf8_lossy(bytes)));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn nothing_changed_nothing_rewritten() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.gzip_twins = true;
        options.lists.snapshot_every = Duration::ZERO;
    });
    source.publish();
    assert_eq!(source.publish(), [""; 0]);
    source.set.change("a", Change::Updated);
    assert_eq!(source.publish(), ["resourcelist.xml", "changelist-000001.xml"]);
    assert_eq!(source.publish(), [""; 0]);
}

#[test]
fn changes_have_a_datetime_and_deletions_nothing_else() {
    let mut source = Source::new(TestSet::of(&["a", "b"]), |_| {});
    source.publish();
    source.set.change("c", Change::Created);
    source.set.change("a", Change::Updated);
    source.set.change("b", Change::Deleted);
    source.publish();
    insta::assert_snapshot!(source.sink.text("resourcesync/changelist-000001.xml").unwrap());
}

#[test]
fn dia_8_readers_of_1_0_find_the_time_of_a_change_in_lastmod() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| options.spec_version = SpecVersion::V1_0);
    source.publish();
    source.set.change("a", Change::Deleted);
    source.publish();
    let (_, entries) = source.document("changelist-000001.xml");
    assert_eq!(entries[0].lastmod, entries[0].metadata.datetime);
}

#[test]
fn a_full_list_closes_with_the_next_change_and_keeps_its_name() {
    let mut source = Source::new(TestSet::of(&["a"]), |_| {});
    source.publish();
    for _ in 0..3 {
        source.set.change("a", Change::Updated);
    }
    assert_eq!(source.publish(), ["resourcelist.xml", "changelist-000001.xml"]);
    source.set.change("a", Change::Updated);
    let written = source.publish();
    assert_eq!(
        written,
        ["resourcelist.xml", "changelist-000002.xml", "changelist-000001.xml", "changelist.xml"]
    );
    assert_eq!(source.all_changes().len(), 4);
    let closed = source.sink.documents["resourcesync/changelist-000001.xml"].clone();
    source.set.change("a", Change::Deleted);
    source.publish();
    assert_eq!(source.sink.documents["resourcesync/changelist-000001.xml"], closed);
}

#[test]
fn closed_lists_leave_the_index_only_when_the_resource_list_is_younger() {
    let mut source = Source::new(TestSet::of(&["a", "b", "c", "d"]), |options| {
        options.lists.closed_lists = 1;
        options.lists.small_snapshot_every = Duration::MAX;
        options.lists.grace = Duration::from_secs(60);
    });
    source.publish();
    let at = source.document("resourcelist.xml").0.metadata.unwrap().at;
    source.policy.lists.snapshot_every = Duration::from_secs(1_000_000);
    source.published.sets.get_mut("").unwrap().resource_list.as_mut().unwrap().resources = 1_000_000;
    for _ in 0..10 {
        source.set.change("a", Change::Updated);
    }
    source.publish();
    assert_eq!(source.document("resourcelist.xml").0.metadata.unwrap().at, at);
    assert_eq!(source.document("changelist.xml").1.len(), 4);
    source.policy.lists.snapshot = true;
    source.publish();
    source.policy.lists.snapshot = false;
    source.set.change("a", Change::Updated);
    source.publish();
    assert_eq!(source.document("changelist.xml").1.len(), 2);
    assert!(source.sink.documents.contains_key("resourcesync/changelist-000001.xml"), "grace");
    source.set.seconds += 100;
    source.publish();
    assert!(!source.sink.documents.contains_key("resourcesync/changelist-000001.xml"));
}

#[test]
fn one_plain_change_list_keeps_its_newest_half_when_it_is_full() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.lists.single_changelist = true;
        options.lists.entries = 6;
    });
    source.publish();
    for round in 0..20 {
        source.set.change("a", Change::Updated);
        source.publish();
        let (header, entries) = source.document("changelist.xml");
        assert_eq!(header.form, Form::List);
        assert!((1..=6).contains(&entries.len()), "{round}");
        assert_eq!(
            entries.last().unwrap().metadata.datetime,
            Some(source.set.changes.last().unwrap().datetime)
        );
        let at = source.document("resourcelist.xml").0.metadata.unwrap().at;
        assert!(header.metadata.unwrap().from <= at);
    }
    source.policy.lists.single_changelist = false;
    source.publish();
    assert_eq!(source.document("changelist.xml").0.form, Form::Index);
    source.all_changes();
}

#[test]
fn a_large_set_has_parts_named_by_their_snapshot_that_stay_for_the_grace_time() {
    let names: Vec<_> = (0..10).map(|number| format!("r{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut source = Source::new(TestSet::of(&names), |options| {
        options.lists.entries = 4;
        options.sitemap_twin = true;
    });
    let written = source.publish();
    let parts: Vec<_> = written.iter().filter(|name| name.starts_with("resourcelist-")).cloned().collect();
    assert_eq!(parts.len(), 3);
    assert!(
        written.iter().position(|it| it == "resourcelist.xml")
            > written.iter().position(|it| *it == parts[2])
    );
    let (header, members) = source.document("resourcelist.xml");
    assert_eq!((header.form, members.len()), (Form::Index, 3));
    let (part, entries) = source.document(&parts[0]);
    assert_eq!(part.index().unwrap().as_str(), "http://example.com/resourcesync/resourcelist.xml");
    assert_eq!((part.metadata.unwrap().at, entries.len()), (header.metadata.unwrap().at, 4));
    let (sitemap, _) = source.document("sitemap.xml");
    assert!(sitemap.metadata.is_none() && sitemap.links.is_empty());

    source.set.change("r1", Change::Updated);
    assert_eq!(source.publish(), ["changelist-000001.xml"], "one change in ten renews nothing");
    source.set.change("r2", Change::Updated);
    source.publish();
    assert!(source.sink.documents.contains_key(&format!("resourcesync/{}", parts[0])), "grace");
    source.set.seconds += 4_000;
    source.publish();
    assert!(!source.sink.documents.contains_key(&format!("resourcesync/{}", parts[0])));
}

#[test]
fn an_open_source_renews_its_resource_list_now_and_then_however_fast_it_changes() {
    let mut source = Source::new(TestSet::of(&["a", "b"]), |options| {
        options.lists.small_snapshot_every = Duration::from_secs(300);
        options.lists.rotation.entries = 1_000;
    });
    source.publish();
    let mut renewed = 0;
    for _ in 0..20 {
        source.set.change("a", Change::Updated);
        renewed += usize::from(source.publish().contains(&"resourcelist.xml".to_owned()));
    }
    // Each publication takes three seconds.
    assert_eq!(renewed, 5);
}

#[test]
fn another_base_url_rewrites_everything() {
    let mut source = Source::new(TestSet::of(&["a"]), |_| {});
    source.publish();
    source.policy = SourcePolicy::new(&PublishOptions::new("/nowhere", "https://example.org/data")).unwrap();
    let written = source.publish();
    assert!(FIRST[..6].iter().all(|name| written.iter().any(|it| it == name)), "{written:?}");
    insta::assert_debug_snapshot!(host_setup(&source.policy, &[]));
}

#[test]
fn each_set_has_a_capability_list_of_its_own() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.sets =
            ["one", "two"].map(|name| SetOptions { name: name.to_owned(), ..SetOptions::new() }).to_vec();
        options.sets[1].resource_list = false;
    });
    let now = source.set.now();
    let views: [&dyn SetView; 2] = [&source.set, &TestSet::default()];
    let mut archives = |_: &str| Ok::<_, Error>(ArchivedDocuments::default());
    render(
        &source.policy,
        &views,
        &Before::default(),
        now,
        &mut archives,
        &mut Omissions::default(),
        &mut source.sink,
    )
    .unwrap();
    source.sink.commit(&[]).unwrap();
    source.check_references();
    let (_, sets) = read(&source.sink.documents[".well-known/resourcesync"]);
    let sets: Vec<_> = sets.iter().map(|entry| entry.loc.as_str()).collect();
    let expected =
        ["one", "two"].map(|set| format!("http://example.com/resourcesync/{set}/capabilitylist.xml"));
    assert_eq!(sets, expected);
    let (header, offered) = source.document("two/capabilitylist.xml");
    assert_eq!((header.links_for(&Relation::DescribedBy).count(), offered.len()), (1, 1));
}

#[test]
fn other_rules_for_the_entries_renew_the_resource_list() {
    let mut source = Source::new(TestSet::of(&["a"]), |_| {});
    source.publish();
    let mut options = PublishOptions::new("/nowhere", "http://example.com");
    options.sets[0].links = vec![LinkRule::new("*.pdf", Relation::DescribedBy, "*.xml")];
    source.policy = SourcePolicy::new(&options).unwrap();
    assert_eq!(source.publish(), ["resourcelist.xml"]);
    assert_eq!(source.publish(), [""; 0]);
}

fn event() -> impl Strategy<Value = Option<(u8, Change)>> {
    let change = prop_oneof![Just(Change::Created), Just(Change::Updated), Just(Change::Deleted)];
    prop_oneof![1 => Just(None), 4 => (0u8..8, change).prop_map(Some)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_baseline_and_the_changes_since_its_at_give_the_set(
        events in prop::collection::vec(event(), 0..60),
        each_time in any::<bool>(),
        entries in 2u64..6,
    ) {
        let mut source = Source::new(TestSet::of(&["0", "1", "2"]), |options| {
            options.lists.small_snapshot_every = if each_time { Duration::ZERO } else { Duration::MAX };
            options.lists.entries = entries;
        });
        source.publish();
        for event in events.into_iter().chain([None]) {
            if let Some((name, change)) = event {
                source.set.change(&name.to_string(), change);
                continue;
            }
            source.publish();
            let (header, first) = source.document("resourcelist.xml");
            let at = header.metadata.unwrap().at;
            let listed = match header.form {
                Form::List => first,
                Form::Index => first.iter().flat_map(|member| {
                    source.document(member.loc.as_str().rsplit('/').next().unwrap()).1
                }).collect(),
            };
            let mut copy: BTreeSet<_> = listed.into_iter().map(|it| (it.loc.to_string(), it.metadata.length)).collect();
            let changes = source.all_changes();
            prop_assert_eq!(changes.len(), source.set.changes.len());
            for change in changes.into_iter().filter(|change| change.metadata.datetime >= at) {
                copy.retain(|(uri, _)| uri != change.loc.as_str());
                if change.metadata.change != Some(Change::Deleted) {
                    copy.insert((change.loc.to_string(), change.metadata.length));
                }
            }
            let expected: BTreeSet<_> =
                source.set.resources.iter().map(|it| (it.uri.to_string(), it.state.length)).collect();
            prop_assert!(copy == expected);
        }
    }
}
