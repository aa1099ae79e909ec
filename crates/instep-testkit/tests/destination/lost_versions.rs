//! Versions whose bytes do not come, or are damaged.

use instep_testkit::Fault;

use crate::support::{Copy, keeping, versions};

#[test]
fn o582_states_in_a_package_that_does_not_come_are_kept_by_the_next_run() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    keeping(&copy);
    copy.source.put("a.txt", "second");
    copy.source.put("a.txt", "third");
    copy.source.rotate();
    copy.source.fail_always("changedump-000001.zip", Fault::Status(403));
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (3, vec![]), "{:?}", run.heard);
    assert_eq!(versions(&copy, "a.txt"), ["one"]);
    copy.source.heal();
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), versions(&copy, "a.txt").len()), (0, 2), "{:?}", run.heard);
    assert!(versions(&copy, "a.txt").contains(&"second".to_owned()));
}

#[test]
fn o999_states_in_a_package_without_a_usable_loc_are_kept_by_the_run_that_can_use_it() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    keeping(&copy);
    copy.source.put("a.txt", "second");
    copy.source.put("a.txt", "third");
    copy.source.rotate();
    let package = copy.source.url("changedump-000001.zip");
    copy.source.rewrite("changedump.xml", move |text| text.replace(&package, "http://["));
    for run in [keeping(&copy), keeping(&copy)] {
        assert_eq!((run.exit_code(), copy.differences()), (3, vec![]), "{:?}", run.heard);
        assert_eq!(versions(&copy, "a.txt"), ["one"]);
    }
    copy.source.heal();
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), versions(&copy, "a.txt").len()), (0, 2), "{:?}", run.heard);
}

#[test]
fn o584_a_former_state_that_its_package_does_not_have_as_listed_is_a_problem() {
    let copy = Copy::laid_out(|layout| layout.change_dump = true);
    copy.source.pack_instead("a.txt", "second", "wrong!");
    keeping(&copy);
    copy.source.put("a.txt", "second");
    copy.source.put("a.txt", "third");
    copy.source.rotate();
    let run = keeping(&copy);
    assert_eq!((run.exit_code(), copy.differences()), (3, vec![]), "{:?}", run.heard);
    assert_eq!(versions(&copy, "a.txt"), ["one"]);
    let is_told = |(_, _, what): &(_, String, String)| what.contains("would be kept as versions");
    assert!(run.heard.problems.iter().any(is_told), "{:?}", run.heard.problems);
}

#[test]
fn o590_a_damaged_version_is_a_problem_and_not_said_to_be_fetched_again() {
    let copy = Copy::of_three();
    keeping(&copy);
    copy.source.put("a.txt", "newer");
    keeping(&copy);
    let folder = copy.dir().join(".instep/versions/a.txt");
    let version = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    std::fs::write(version, "own").unwrap();
    let run = copy.sync_with(|options| options.repair = true);
    assert_eq!((run.exit_code(), copy.differences()), (3, vec![]), "{:?}", run.heard);
    assert!(run.heard.problems.iter().any(|(_, uri, _)| uri.contains('#')), "{:?}", run.heard.problems);
    assert!(!run.heard.notes.iter().any(|note| note.contains("fetched again")), "{:?}", run.heard.notes);
}
