//! Deletions in Change Lists: applied when they are requested, and remembered until then.

use crate::support::Copy;

#[test]
fn deletions_are_kept_unless_they_are_asked_for() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    assert_eq!(copy.sync().report().deleted, 0);
    assert_eq!(copy.read("a.txt").as_deref(), Some("one"));
}

#[test]
fn named_deletions_are_applied() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), run.report().deleted), (0, 1));
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_deletion_that_was_kept_is_done_when_it_is_asked_for_later() {
    let copy = Copy::of_three();
    copy.sync();
    copy.source.delete("a.txt");
    copy.sync();
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]));
}
