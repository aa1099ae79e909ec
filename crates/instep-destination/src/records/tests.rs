//! Records of each version are read, and damaged ones are errors.

use std::{fs, path::Path};

use resourcesync::{Algorithm, DateTime, Hasher, Link, MediaType, Relation, Uri};

use super::{
    DocumentNote, LastMaps, PlanRules, RecentDeletions, UnusableEntries, clock_step, coverage,
    held_though_gone, kept, kept::KeptResources, last_gap, older_inventory, operations, slice, way,
};
use crate::{
    MaxDelete, SelectionOptions,
    discover::Way,
    map::CopyPath,
    plan::{Coverage, Desired},
    state::{
        Action, ActionKind, CopyState, DocumentRecord, HeldAt, Operation, ResourceMetadata, Setting,
        StateError, StatePlace,
    },
};

fn golden(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/records");
    fs::read(folder.join(name)).unwrap()
}

fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

/// Returns an operation of each kind, with all its optional values.
fn each_operation() -> Vec<Operation> {
    let path = |text| CopyPath::from_state(text).unwrap();
    let mut hasher = Hasher::new(&[Algorithm::Md5, Algorithm::Sha256]);
    hasher.update(b"abc");
    let mut metadata = ResourceMetadata::new();
    metadata.length = Some(3);
    metadata.digests = hasher.finish();
    metadata.lastmod = Some(DateTime::parse("2013-01-03").unwrap());
    metadata.datetime = Some(DateTime::parse("2013-01-03T11:00:00.123Z").unwrap());
    metadata.etag = Some("\"tag\"".into());
    metadata.media_type = Some(MediaType::new("text/plain"));
    metadata.links = vec![Link::new(Relation::Canonical, uri("http://h/c"))];
    let place = |metadata, key| Operation::Place {
        uri: uri("http://h/a"),
        path: path("d/a"),
        key,
        staged: 7,
        sets: 5,
        metadata,
        replaces: true,
        place: HeldAt::Path,
    };
    vec![
        place(metadata, Some("d/A".to_owned())),
        place(ResourceMetadata::new(), None),
        Operation::Remove { uri: uri("http://h/b"), path: path("b"), staged: 8 },
        Operation::Move { uri: uri("http://h/c"), from: path("c"), to: path("c/%40body"), staged: 9 },
    ]
}

/// Returns an action of each kind that a slice may have, with all its optional values.
fn each_fetch() -> Vec<Action> {
    let mut full = Desired::new(uri("http://h/a"));
    if let Some(Operation::Place { metadata, .. }) = each_operation().into_iter().next() {
        full.metadata = metadata;
    }
    (full.attempts, full.inherits_time) = (3, true);
    let retrieval = r#"{"mirrors":["http://m/a"],"mementos":["http://h/a/1"],"lies_at":"http://h/b"}"#;
    full.set_retrieval_text(Some(retrieval)).unwrap();
    vec![
        Action::new(ActionKind::Create, full),
        Action::new(ActionKind::Update, Desired::new(uri("http://h/b"))),
        Action::new(ActionKind::Check, Desired::new(uri("http://h/c"))),
    ]
}

#[test]
fn a_slice_of_this_version_is_read_by_every_worker_that_knows_it() {
    let bytes = golden("slice.1.postcard");
    assert_eq!(slice::from_bytes(&bytes).unwrap(), each_fetch());
    assert_eq!(slice::to_bytes(&each_fetch()).unwrap(), bytes);
    for end in 0..bytes.len() {
        assert!(slice::from_bytes(&bytes[..end]).is_err(), "{end}");
    }
    let deletion = Action::new(ActionKind::Delete, Desired::new(uri("http://h/d")));
    assert!(
        slice::from_bytes(&slice::to_bytes(&[deletion]).unwrap()).is_err(),
        "nothing but fetches is shared"
    );
}

#[test]
fn an_intent_of_each_version_is_read_for_ever() {
    let bytes = golden("operations.1.postcard");
    assert_eq!(
        format!("{:?}", operations::from_bytes(1, &bytes).unwrap()),
        format!("{:?}", each_operation())
    );
    assert_eq!(operations::to_bytes(&each_operation()).unwrap(), bytes);
    assert!(operations::from_bytes(2, &bytes).is_err());
    // Bytes that are cut off anywhere are an error, never a shorter list.
    for end in 0..bytes.len() {
        assert!(operations::from_bytes(1, &bytes[..end]).is_err(), "{end}");
    }
}

fn put(state: &mut dyn CopyState, setting: Result<Setting, StateError>) {
    let Setting { name, text } = setting.unwrap();
    state.set_setting(&name, &text).unwrap();
}

#[test]
fn the_rules_of_a_plan_are_read_as_each_version_wrote_them_and_damage_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = StatePlace::open_file(&folder.path().join("state.sqlite")).unwrap();
    let set = state.set("http://h/capabilitylist.xml").unwrap();
    assert_eq!(PlanRules::read(&*state, set).unwrap(), None);
    let mut selection = SelectionOptions::default();
    selection.include.push("*.pdf".to_owned());
    let rules = PlanRules::new(&selection, true);
    let setting = rules.setting(&*state, set);
    put(&mut *state, setting);
    assert_eq!(
        state.setting("policy 0").unwrap().unwrap(),
        String::from_utf8(golden("policy.1.json")).unwrap().trim()
    );
    assert_eq!(PlanRules::read(&*state, set).unwrap(), Some(rules.clone()));
    assert!(rules.stand_for(&PlanRules::new(&selection, false)));
    assert!(!PlanRules::new(&selection, false).stand_for(&rules));
    assert!(!rules.stand_for(&PlanRules::new(&SelectionOptions::default(), true)));
    for damaged in ["", "{}", r#"{"version":2,"deletes":true,"selection":""}"#] {
        state.set_setting("policy 0", damaged).unwrap();
        let refused = PlanRules::read(&*state, set).unwrap_err();
        assert!(matches!(refused, StateError::Record { .. }), "{refused}");
        assert!(refused.to_string().contains("state.sqlite"), "{refused}");
    }
}

#[test]
fn o122_another_list_of_paths_is_another_rule_and_its_order_is_none() {
    let rules = |paths: Option<&[&str]>| {
        let paths = paths.map(|paths| paths.iter().map(|&path| path.to_owned()).collect());
        PlanRules::new(&SelectionOptions { paths, ..SelectionOptions::default() }, true)
    };
    let listed = rules(Some(&["a", "b"]));
    assert!(listed.stand_for(&rules(Some(&["b", "a", "a"]))));
    for other in [None, Some(&[][..]), Some(&["a"]), Some(&["a", "c"]), Some(&["ab"])] {
        assert!(!listed.stand_for(&rules(other)) && !rules(other).stand_for(&listed), "{other:?}");
    }
}

#[test]
fn a_note_about_a_document_is_read_as_each_version_wrote_it_and_damage_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let state = StatePlace::open_file(&folder.path().join("state.sqlite")).unwrap();
    let mut record = DocumentRecord::new(Uri::parse("http://h/changelist.xml").unwrap());
    let note = DocumentNote { unusable: 3, ..DocumentNote::default() };
    note.write(&*state, &mut record).unwrap();
    let written = record.extra.as_deref().map(str::to_owned).unwrap();
    assert_eq!(written, String::from_utf8(golden("document-note.1.json")).unwrap().trim());
    for text in [&*written, "unusable 3"] {
        record.extra = Some(text.into());
        assert_eq!(DocumentNote::read(&*state, &record).unwrap(), note);
    }
    for damaged in ["", "{}", "unusable", r#"{"version":1}"#, r#"{"version":2,"unusable":3}"#] {
        record.extra = Some(damaged.into());
        let refused = DocumentNote::read(&*state, &record).unwrap_err().to_string();
        assert!(refused.contains("state.sqlite") && refused.contains("http://h/changelist.xml"), "{refused}");
    }
    record.extra = None;
    assert_eq!(DocumentNote::read(&*state, &record).unwrap(), DocumentNote::default());
}

#[test]
fn what_a_set_is_known_by_is_read_as_each_version_wrote_it_and_damage_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = StatePlace::open_file(&folder.path().join("state.sqlite")).unwrap();
    let set = state.set("http://h/capabilitylist.xml").unwrap();
    assert_eq!(coverage::read(&*state, set).unwrap(), None);
    assert_eq!(kept::read(&*state, set).unwrap(), KeptResources::default());
    let source = state.found_source("http://h/", &[set]).unwrap();
    assert_eq!(way::read(&*state, source).unwrap(), None);
    assert_eq!(RecentDeletions::read(&*state).unwrap(), RecentDeletions::default());

    let time = DateTime::parse("2026-01-02T03:04:05Z").unwrap();
    let all = [Coverage::Complete { at: Some(time) }, Coverage::Complete { at: None }, Coverage::Unknown];
    for one in all.into_iter().chain([Coverage::ChangesKnown { since: time }]) {
        coverage::write(&mut *state, set, one).unwrap();
        assert_eq!(
            coverage::setting(&*state, set, one).unwrap().text,
            state.setting("coverage 0").unwrap().unwrap()
        );
        assert_eq!(coverage::read(&*state, set).unwrap(), Some(one));
    }
    let setting = kept::setting(&*state, set, KeptResources { all: 50, undated: 40 });
    put(&mut *state, setting);
    assert!(!held_though_gone::read(&*state, set).unwrap());
    held_though_gone::write(&mut *state, set, true).unwrap();
    assert!(!older_inventory::read(&*state, set).unwrap());
    older_inventory::write(&mut *state, set, true).unwrap();
    assert_eq!(last_gap::read(&*state, set).unwrap(), None);
    last_gap::write(&mut *state, set, time).unwrap();
    clock_step::write(&mut *state, set, time, true).unwrap();
    assert_eq!(clock_step::read(&*state, set).unwrap(), None, "it is over");
    clock_step::write(&mut *state, set, time, false).unwrap();
    assert_eq!(UnusableEntries::read(&*state, set).unwrap(), UnusableEntries::default());
    let text = str::to_owned;
    let unusable =
        UnusableEntries { count: 2, uri: text("ftp://h/a"), what: text("not http"), scope: text("usual") };
    let setting = unusable.setting(&*state, set);
    put(&mut *state, setting);
    way::write(&mut *state, source, Way::WellKnown).unwrap();
    let mut recent = RecentDeletions::default();
    recent.add(DateTime::from_unix_seconds(1_000), MaxDelete::Percent(25), 10);
    recent.write(&mut *state).unwrap();
    let maps = LastMaps::of(&[("http://h/a/".to_owned(), "b/".to_owned())]);
    maps.write(&mut *state, "http://h/").unwrap();
    let records = [
        ("maps http://h/", "maps.1.json"),
        ("coverage 0", "coverage.1.json"),
        ("kept 0", "kept.2.json"),
        ("held though gone 0", "held-though-gone.1.json"),
        ("older inventory 0", "older-inventory.1.json"),
        ("gap 0", "last-gap.1.json"),
        ("clock 0", "clock-step.1.json"),
        ("unusable 0", "unusable.1.json"),
        ("way 1", "way.1.json"),
        ("recent deletions", "recent-deletions.1.json"),
    ];
    for (name, file) in records {
        let written = state.setting(name).unwrap().unwrap();
        assert_eq!(written, String::from_utf8(golden(file)).unwrap().trim());
    }
    let kept = KeptResources { all: 40, undated: 40 };
    assert_eq!(kept::read(&*state, set).unwrap(), kept, "no row has a deletion");
    let first = String::from_utf8(golden("kept.1.json")).unwrap();
    state.set_setting("kept 0", first.trim()).unwrap();
    assert_eq!(kept::read(&*state, set).unwrap(), kept, "the first version");
    assert!(held_though_gone::read(&*state, set).unwrap());
    assert!(older_inventory::read(&*state, set).unwrap());
    assert_eq!(last_gap::read(&*state, set).unwrap(), Some(time));
    assert_eq!(clock_step::read(&*state, set).unwrap(), Some(time));
    assert_eq!(UnusableEntries::read(&*state, set).unwrap(), unusable);
    assert_eq!(way::read(&*state, source).unwrap(), Some(Way::WellKnown));
    assert_eq!(RecentDeletions::read(&*state).unwrap(), recent);
    assert_eq!(LastMaps::read(&*state, "http://h/").unwrap(), Some(maps));
    // The way on which another URL led to the Source is not known yet.
    assert_eq!(state.found_source("http://h/list.xml", &[set]).unwrap(), source);
    assert_eq!(way::read(&*state, source).unwrap(), None);

    for damaged in ["", "{}", r#"{"version":1}"#, r#"{"version":2,"kept":1,"coverage":"unknown","runs":[]}"#]
    {
        records.iter().for_each(|(name, _)| state.set_setting(name, damaged).unwrap());
        assert!(coverage::read(&*state, set).is_err(), "{damaged}");
        assert!(kept::read(&*state, set).is_err(), "{damaged}");
        assert!(held_though_gone::read(&*state, set).is_err(), "{damaged}");
        assert!(older_inventory::read(&*state, set).is_err(), "{damaged}");
        assert!(last_gap::read(&*state, set).is_err(), "{damaged}");
        assert!(clock_step::read(&*state, set).is_err(), "{damaged}");
        assert!(UnusableEntries::read(&*state, set).is_err(), "{damaged}");
        assert!(RecentDeletions::read(&*state).is_err(), "{damaged}");
    }
    for damaged in ["", "{}", r#"{"version":1,"way":"by train"}"#] {
        state.set_setting("way 1", damaged).unwrap();
        let refused = way::read(&*state, source).unwrap_err();
        assert!(refused.to_string().contains("state.sqlite"), "{refused}");
    }
}
