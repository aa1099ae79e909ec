//! Random histories of a folder against a naive model.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;

use super::folder::Folder;

/// An event of the folder, or of the Source.
#[derive(Clone, Debug)]
enum Event {
    Write(usize, u8),
    Touch(usize),
    Remove(usize),
    RenameFolder(usize, usize),
    Replace(usize, usize),
    StepClock(i64),
    Reopen,
    ScanPart(usize),
    Scan,
}

const NAMES: [&str; 9] = ["a", "a b", "a-b", "d/a", "d/e/f", "d/e.f", "d-e", "g/a", "z\u{e9}"];
const FOLDERS: [&str; 3] = ["d", "g", "d/e"];

fn event() -> impl Strategy<Value = Event> {
    let name = || 0..NAMES.len();
    prop_oneof![
        6 => (name(), 0u8..3).prop_map(|(name, text)| Event::Write(name, text)),
        1 => name().prop_map(Event::Touch),
        3 => name().prop_map(Event::Remove),
        1 => (0..FOLDERS.len(), 0..FOLDERS.len()).prop_map(|(from, to)| Event::RenameFolder(from, to)),
        1 => (name(), name()).prop_map(|(from, to)| Event::Replace(from, to)),
        1 => (-10_000_000i64..10_000_000).prop_map(Event::StepClock),
        1 => Just(Event::Reopen),
        2 => name().prop_map(Event::ScanPart),
        3 => Just(Event::Scan),
    ]
}

fn apply(folder: &mut Folder, event: &Event) {
    // An event that the folder does not allow just now does not happen: a file where a folder would have to be.
    match event {
        Event::Write(name, text) => {
            let path = folder.path(NAMES[*name]);
            let _ = fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(path, [*text]));
        }
        Event::Touch(name) => {
            let _ = fs::File::options().append(true).open(folder.path(NAMES[*name])).map(|file| {
                file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            });
        }
        Event::Remove(name) => drop(fs::remove_file(folder.path(NAMES[*name]))),
        Event::RenameFolder(from, to) => {
            drop(fs::rename(folder.path(FOLDERS[*from]), folder.path(FOLDERS[*to])));
        }
        Event::Replace(from, to) => drop(fs::rename(folder.path(NAMES[*from]), folder.path(NAMES[*to]))),
        Event::StepClock(micros) => folder.step_clock(*micros),
        Event::Reopen => folder.reopen(),
        Event::ScanPart(name) => drop(folder.scan_paths(&[NAMES[*name]])),
        Event::Scan => drop(folder.scan()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_change_is_lost_invented_or_told_twice(
        before in prop::collection::vec(event(), 0..8),
        after in prop::collection::vec(event(), 1..40),
    ) {
        let mut folder = Folder::new();
        before.iter().for_each(|event| apply(&mut folder, event));
        folder.scan();
        let baseline = folder.changes().is_empty().then(|| folder.known());
        after.iter().for_each(|event| apply(&mut folder, event));
        folder.scan();
        folder.check();
        // Scans before the first complete one record without a log; a later one has begun it.
        folder.replay(baseline.unwrap_or_else(|| unlogged(&before)));
    }
}

/// Returns the content of the folder at the first complete scan of a history.
fn unlogged(before: &[Event]) -> BTreeMap<String, String> {
    let mut folder = Folder::new();
    for event in before {
        apply(&mut folder, event);
        if matches!(event, Event::Scan) {
            return folder.known();
        }
    }
    folder.known()
}
