//! The state of a harvest for readers beside it.

use std::os::unix::fs::symlink;

use super::{super::folder::HarvestFolder, *};
use crate::response::OaiRecord;

#[test]
fn o445_a_fault_on_the_way_to_the_state_is_not_taken_for_a_harvest_without_records() {
    let dir = tempfile::tempdir().unwrap();
    assert!(HarvestStateView::open(dir.path()).unwrap().is_none());
    symlink(".instep", dir.path().join(".instep")).unwrap();
    assert!(HarvestStateView::open(dir.path()).is_err());
}

#[test]
fn o556_records_stay_published_while_a_comparison_has_the_list_read_anew() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(STATE).parent().unwrap()).unwrap();
    let state = HarvestState::open(dir.path()).unwrap();
    let view = HarvestStateView::open(dir.path()).unwrap().unwrap();
    let formats = ["oai_dc".to_owned()];
    let is_complete_at = |at: ListPosition| {
        position::write(&state.connection, "oai_dc", &at).unwrap();
        view.is_complete(&formats).unwrap()
    };
    let begun = ListPosition { run: 1, is_open: true, ..ListPosition::default() };
    assert!(!is_complete_at(begun.clone()), "the first list");
    assert!(is_complete_at(ListPosition { next_from: Some(5), ..begun.clone() }));
    assert!(is_complete_at(ListPosition { inventoried_at: Some(9), ..begun }), "a list that is read anew");
    state.begin_anew("other").unwrap();
    assert!(!view.is_complete(&formats).unwrap(), "the first list of another harvest");
}

#[test]
fn o602_a_record_that_stays_damaged_is_no_stranger_for_which_the_whole_list_is_read_anew() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = HarvestFolder::open(place.path()).unwrap();
    let mut state = HarvestState::open(place.path()).unwrap();
    let record = OaiRecord {
        identifier: "a".to_owned(),
        datestamp: "2026-01-01T00:00:00Z".to_owned(),
        ..OaiRecord::default()
    };
    let mut commit = state.begin(&mut folder).unwrap();
    assert!(commit.note("oai_dc", &record, 1).unwrap().is_none());
    commit.owe("oai_dc", "a").unwrap();
    assert!(commit.note("oai_dc", &record, 2).unwrap().is_some());
    assert!(commit.note("mods", &record, 2).unwrap().is_none(), "damaged in another format only");
}

#[test]
fn o676_a_record_that_a_list_of_identifiers_reports_as_deleted_counts_as_changed() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = HarvestFolder::open(place.path()).unwrap();
    let mut state = HarvestState::open(place.path()).unwrap();
    let mut record = OaiRecord {
        identifier: "a".to_owned(),
        datestamp: "2026-01-01T00:00:00Z".to_owned(),
        metadata: Some(b"<x/>".to_vec()),
        ..OaiRecord::default()
    };
    let mut commit = state.begin(&mut folder).unwrap();
    commit.take("oai_dc", &record, 1, false).unwrap();
    (record.is_deleted, record.metadata) = (true, None);
    assert_eq!(commit.note("oai_dc", &record, 2).unwrap(), Some(RecordEffect::Removed));
    assert_eq!(commit.note("oai_dc", &record, 2).unwrap(), Some(RecordEffect::Same));
}
