//! Audits of a copy, and its repair.

use std::{fs, path::Path};

use instep_testkit::Fault;

use crate::sets::document;
use crate::support::{Copy, in_step, three};

#[test]
fn an_audit_tells_every_difference() {
    let copy = Copy::of_three();
    copy.sync();
    let (clean, _) = copy.audit();
    assert_eq!(clean.unwrap().exit_code(), 0);
    fs::write(copy.dir().join("a.txt"), "One").unwrap();
    copy.source.put("e.txt", "created");
    copy.source.delete("b.txt");
    let (report, mut heard) = copy.audit();
    assert_eq!(report.unwrap().exit_code(), 20);
    heard.itemized.sort();
    let line = |letter: char, path: &str| format!("{letter} {}", copy.source.url(path));
    assert_eq!(heard.itemized, [line('+', "e.txt"), line('-', "b.txt"), line('~', "a.txt")]);
}

#[test]
fn d44_repair_mends_what_an_audit_finds() {
    let copy = Copy::of_three();
    copy.sync();
    fs::write(copy.dir().join("a.txt"), "One").unwrap();
    fs::remove_file(copy.dir().join("b.txt")).unwrap();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.read("a.txt").as_deref(), Some("One"), "a plain run does not look");
    let run = copy.sync_with(|options| options.repair = true);
    assert_eq!(run.exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn o62_what_a_repair_could_not_fetch_is_fetched_by_the_next_run_although_the_list_shows_it_as_current() {
    for damage in
        [|path: &Path| fs::write(path, "One").unwrap(), |path: &Path| fs::remove_file(path).unwrap()]
    {
        let copy = Copy::of_three();
        copy.sync();
        damage(&copy.dir().join("a.txt"));
        copy.source.fail_always("a.txt", Fault::Status(500));
        let run = copy.sync_with(|options| (options.repair, options.access.retries) = (true, 0));
        assert_eq!((run.exit_code(), run.report().owed), (3, 1), "{:?}", run.heard);
        assert_eq!(copy.audit().0.unwrap().exit_code(), 20);
        // The list is read again.
        copy.source.put("e.txt", "created");
        copy.source.snapshot();
        assert_eq!(copy.sync_with(|options| options.access.retries = 0).exit_code(), 3);
        copy.source.heal();
        in_step(&copy, &copy.sync());
    }
}

#[test]
fn o62_a_repair_fetches_what_no_document_names_any_more() {
    let copy = Copy::laid_out(|layout| layout.resource_list = false);
    for (path, text) in three() {
        copy.source.put(path, text);
    }
    copy.sync();
    copy.source.gap();
    fs::remove_file(copy.dir().join("b.txt")).unwrap();
    let dry = copy.sync_with(|options| (options.repair, options.dry_run) = (true, true));
    assert!(dry.heard.notes.iter().any(|note| note.ends_with("fetched again: 1")), "{:?}", dry.heard.notes);
    let run = copy.sync_with(|options| options.repair = true);
    assert_eq!((run.exit_code(), copy.read("b.txt").as_deref()), (0, Some("two")), "{:?}", run.heard);
}

#[test]
fn o265_an_audit_compares_the_sets_that_the_copy_follows_although_there_is_one_more() {
    let copy = Copy::of_three();
    let names: Vec<_> = (0..64).map(|number| format!("set-{number:02}.xml")).collect();
    let entry = |name: &String| (name.clone(), "<rs:md capability='capabilitylist'/>");
    let entries: Vec<_> = names.iter().map(entry).collect();
    let entries: Vec<_> = entries.iter().map(|(name, metadata)| (name.as_str(), *metadata)).collect();
    let serve = |path: &str, capability: &str, entries: &[(&str, &str)]| {
        copy.source.serve(path, document(&copy.source, capability, "", entries));
    };
    serve(".well-known/resourcesync", "description", &entries);
    for name in &names {
        serve(name, "capabilitylist", &[("resourcelist.xml", "<rs:md capability='resourcelist'/>")]);
    }
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (3, 3), "{:?}", run.heard);
    let told = run.heard.notes.iter().filter(|note| note.starts_with("Using the Resource List")).count();
    assert_eq!(told, 1, "once for all sets: {:?}", run.heard.notes);
    let (audited, heard) = copy.audit();
    let audited = audited.unwrap();
    assert_eq!((audited.exit_code(), audited.same), (3, 3), "{heard:?}");
    assert!(format!("{heard:?}").contains("set-63.xml"), "{heard:?}");
}
