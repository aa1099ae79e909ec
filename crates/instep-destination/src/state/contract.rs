//! The contract of a state: the same tests for each engine.
//!
//! Each test gets a new, empty place for states. It may open the state there several times, and so reads what the
//! engine has stored. SQLite is always available; for PostgreSQL the tests start a server.

mod changes;
mod followed;
mod groups;
mod log;
mod meeting;
mod packs;
mod pending;
#[cfg(feature = "postgres")]
mod slices;
mod support;

#[cfg(feature = "postgres")]
use support::NamedTest;
use support::TestPlace;

/// Makes a test of each function for each engine.
macro_rules! each_engine {
    ($($room:ident::$test:ident)*) => {
        mod sqlite {
            $(#[test] fn $test() { super::$room::$test(&super::TestPlace::file()) })*
        }

        /// All tests, with their names.
        #[cfg(feature = "postgres")]
        const ALL: &[NamedTest] = &[$((stringify!($test), $room::$test)),*];
    };
}

/// This is one test, because the tests of the contract share a server. Each of them has tables of its own.
#[cfg(feature = "postgres")]
#[test]
fn postgres_keeps_the_contract() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    keep(&server, |_, _| {});
}

/// Workers are upgraded one after the other, so this version must work with tables to which a later version has added
/// something by `TableStep::Adds`.
#[cfg(feature = "postgres")]
#[test]
fn postgres_keeps_the_contract_with_tables_to_which_a_later_version_has_added() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    keep(&server, |place, url| {
        drop(place.open());
        let address = instep_postgres::Address::parse(url).unwrap();
        let added = instep_testkit::additions_of_a_later_version("copy");
        instep_postgres::Session::open(&address).unwrap().batch(&added).unwrap();
    });
}

/// Runs each test in a schema of its own, after the place was prepared.
#[cfg(feature = "postgres")]
fn keep(server: &instep_testkit::PostgresServer, prepare: impl Fn(&TestPlace, &str)) {
    let prepare = &prepare;
    instep_testkit::keep_contract(ALL.iter().chain(slices::ALL).enumerate().map(|(number, (name, test))| {
        let url = format!("{}?schema=test_{number}", server.url());
        let run = move || {
            let place = TestPlace::at(&url);
            prepare(&place, &url);
            test(&place);
        };
        (*name, run)
    }));
}

each_engine! {
    changes::each_change_is_kept_in_order_until_it_is_taken
    changes::a_change_has_what_was_held_when_it_was_made
    changes::versions_and_moves_are_no_changes_of_a_deleted_resource
    followed::a_set_keeps_its_number_under_another_name
    followed::a_copy_follows_as_many_sets_as_it_can_and_no_more
    followed::o659_the_number_of_a_set_is_given_to_another_one_without_what_was_known_of_it
    followed::a_checkpoint_comes_back_as_it_was_committed
    followed::settings_are_recorded_with_the_checkpoint_that_they_hold_as_of
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
    packs::an_object_is_begun_until_a_group_takes_it_over
    packs::a_part_of_an_object_is_dead_once_its_resource_has_another_version_or_none
    packs::o588_a_part_of_an_object_is_dead_once_its_resource_is_lost
    packs::what_is_packed_anew_is_alive_where_it_went
    packs::names_among_held_paths_are_files_or_folders
    pending::what_is_owed_is_owed_by_each_set_apart
    pending::what_is_owed_comes_back_as_it_was_and_goes_when_its_resource_comes
    pending::pending_retries_come_in_pages
    pending::deletions_are_kept_until_a_later_inventory
    pending::o507_old_deletions_are_forgotten_but_for_those_that_are_left_to_do
    pending::the_deletion_of_what_exists_again_is_forgotten_by_its_set
}
