//! The contract of a state: the same tests for each engine.
//!
//! A test is given a place for states that is new, and opens the state there as often as it likes: what it opens again is
//! what an engine kept. SQLite is always there.

mod changes;
mod followed;
mod groups;
mod log;
mod meeting;
mod pending;

use resourcesync::{Algorithm, DateTime, Hasher, Link, MediaType, Relation, Uri};

use super::{CopyState, HeldAt, Ledger, Operation, ResourceMetadata, SetId, StatePlace};
use crate::map::CopyPath;

/// A place for the state of one copy.
pub(super) struct Place {
    pub(super) at: StatePlace,
    /// Goes with this value.
    pub(super) _folder: Option<tempfile::TempDir>,
}

impl Place {
    fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { at: StatePlace::File(folder.path().join("state.sqlite")), _folder: Some(folder) }
    }

    pub(super) fn open(&self) -> Box<dyn CopyState> {
        self.at.open().unwrap()
    }
}

/// Makes a test for each engine of each function.
macro_rules! each_engine {
    ($($room:ident::$test:ident)*) => {
        mod sqlite {
            $(#[test] fn $test() { super::$room::$test(&super::Place::file()) })*
        }
    };
}

each_engine! {
    changes::each_change_is_kept_in_order_until_it_is_taken
    changes::a_change_has_what_was_held_when_it_was_made
    changes::versions_and_moves_are_no_changes_of_a_deleted_resource
    followed::a_set_keeps_its_number_under_another_name
    followed::a_copy_follows_as_many_sets_as_it_can_and_no_more
    followed::a_checkpoint_comes_back_as_it_was_committed
    followed::documents_and_settings_are_replaced
    followed::urls_that_lead_to_the_same_sets_are_one_source
    groups::what_is_placed_is_held_with_all_that_is_known_of_it
    groups::a_resource_that_is_placed_again_keeps_its_number_and_its_sets
    groups::operations_are_taken_in_their_order
    groups::an_intent_stays_until_its_group_is_committed
    groups::what_comes_with_a_group_is_committed_with_it
    groups::a_group_of_many_thousands_is_one
    groups::paths_that_look_alike_are_found_together
    log::the_log_remembers_the_last_run_and_its_problems
    log::b25_the_last_run_of_a_source_is_kept_however_often_another_is_run
    log::the_log_is_bounded_and_newest_first
    log::the_points_have_the_last_one_before_the_time_that_is_asked_for
    meeting::each_wanted_resource_meets_what_is_held_of_it_and_the_rest_is_surplus
    meeting::what_is_committed_during_the_run_is_no_surplus
    meeting::a_resource_that_another_set_lists_joins_it
    meeting::uris_and_paths_are_in_the_order_of_their_bytes
    meeting::a_few_of_many_are_met_without_the_rest
    meeting::a_reader_sees_what_is_committed_while_the_writer_goes_on
    pending::what_is_owed_is_owed_by_each_set_apart
    pending::what_is_owed_comes_back_as_it_was_and_goes_when_its_resource_comes
    pending::pending_retries_come_in_pages
    pending::deletions_are_kept_until_a_later_inventory
}

pub(super) fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

pub(super) fn path(text: &str) -> CopyPath {
    CopyPath::from_state(text).unwrap()
}

/// A time with the precision that comes back.
pub(super) fn at(seconds: i64) -> DateTime {
    DateTime::from_unix_micros(seconds * 1_000_000)
}

/// Metadata of some bytes, with a value in each field.
pub(super) fn known_of(bytes: &[u8]) -> ResourceMetadata {
    let mut hasher = Hasher::new(&[Algorithm::Md5, Algorithm::Sha256]);
    hasher.update(bytes);
    let mut metadata = ResourceMetadata::new();
    metadata.length = Some(bytes.len() as u64);
    metadata.digests = hasher.finish();
    metadata.lastmod = DateTime::parse("2013-01").ok();
    metadata.datetime = DateTime::parse("2013-01-03T09:00:00.25+01:00").ok();
    metadata.etag = Some("W/\"é'\\\"".into());
    metadata.media_type = Some(MediaType::new("text/plain"));
    metadata.links = vec![Link::new(Relation::Via, uri("http://o/x"))];
    metadata
}

/// A file that gets the path of its name.
pub(super) fn place(name: &str, set: SetId, replaces: bool) -> Operation {
    Operation::Place {
        uri: uri(&format!("http://h/{name}")),
        path: path(name),
        key: None,
        staged: 0,
        sets: set.mask(),
        metadata: ResourceMetadata { length: Some(1), ..ResourceMetadata::new() },
        replaces,
        place: HeldAt::Path,
    }
}

pub(super) fn remove(name: &str) -> Operation {
    Operation::Remove { uri: uri(&format!("http://h/{name}")), path: path(name), staged: 0 }
}

/// Commits operations without an intent.
pub(super) fn commit(state: &mut dyn CopyState, operations: &[Operation]) {
    state.commit_group(None, &[operations], &Ledger::default()).unwrap();
}

/// Commits what is recorded with a group that has no operation.
pub(super) fn record(state: &mut dyn CopyState, ledger: &Ledger) {
    state.commit_group(None, &[], ledger).unwrap();
}

/// The names of all that is held, in the order of the state.
pub(super) fn names(state: &dyn CopyState) -> Vec<String> {
    let held = state.held_after(None, usize::MAX >> 1).unwrap();
    held.iter().map(|held| held.uri.as_str().replace("http://h/", "")).collect()
}
