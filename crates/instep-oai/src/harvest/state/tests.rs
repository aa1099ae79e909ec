//! The state of a harvest that cannot be reached.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn o445_a_fault_on_the_way_to_the_state_is_not_taken_for_a_harvest_without_records() {
    let dir = tempfile::tempdir().unwrap();
    assert!(HarvestStateView::open(dir.path()).unwrap().is_none());
    symlink(".instep", dir.path().join(".instep")).unwrap();
    assert!(HarvestStateView::open(dir.path()).is_err());
}
