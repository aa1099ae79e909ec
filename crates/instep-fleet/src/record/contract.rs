//! The contract of a record: the same tests for each engine.
//!
//! Each test gets a new, empty place for a fleet, and may open its record there several times, as several processes do.
//! SQLite is always there; the tests start a PostgreSQL server.

mod holding;
mod keeping;
mod operating;
#[cfg(feature = "postgres")]
mod seating;
mod support;

use support::TestFleet;

/// Makes a test of each function for each engine. The functions of `shared` are for records that several workers share.
macro_rules! each_engine {
    ($($room:ident::$test:ident)*; shared $($shared_room:ident::$shared:ident)*) => {
        mod sqlite {
            $(#[test] fn $test() { super::$room::$test(&super::TestFleet::with_state(None)) })*
        }

        /// All tests, with their names.
        #[cfg(feature = "postgres")]
        const ALL: &[(&str, fn(&TestFleet))] = &[
            $((stringify!($test), $room::$test),)*
            $((stringify!($shared), $shared_room::$shared)),*
        ];
    };
}

/// One test, because the tests of the contract share a server; each of them has tables of its own.
#[cfg(feature = "postgres")]
#[test]
fn postgres_keeps_the_contract() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    instep_testkit::keep_contract(ALL.iter().enumerate().map(|(number, (name, test))| {
        let url = format!("{}?schema=test_{number}", server.url());
        (*name, move || test(&TestFleet::with_state(Some(url))))
    }));
}

each_engine! {
    keeping::what_is_written_is_read_again
    keeping::a_name_or_folder_is_given_once_and_nothing_is_half_added
    keeping::o101_no_copy_is_in_the_folder_of_another_in_any_spelling
    keeping::o102_a_new_configuration_may_exchange_the_folders_of_two_sources
    keeping::the_configuration_file_decides_about_its_own_sources_only
    keeping::a_process_reads_again_what_a_command_wrote
    keeping::the_trend_keeps_the_newest_looks
    keeping::actions_are_paged_from_the_newest
    keeping::o165_an_action_is_in_the_log_once
    keeping::o503_many_sources_are_added_as_if_one_by_one
    holding::a_source_is_held_by_one_worker_and_its_looks_end_once
    holding::what_a_dead_worker_held_is_free_and_the_dead_can_do_nothing
    holding::o441_a_requested_look_that_does_not_end_is_due_since_it_began
    holding::a_worker_that_beats_is_not_removed
    holding::o162_an_alert_is_sent_by_one_worker
    holding::what_is_paused_or_changed_is_not_claimed
    operating::o268_an_action_is_done_on_all_named_sources_or_on_none
    operating::o269_a_damaged_definition_is_named_and_can_be_removed_or_configured_again
    operating::o745_a_definition_of_a_newer_version_is_not_to_be_removed
    operating::o270_a_source_with_another_url_or_folder_is_a_new_one
    ; shared
    operating::o271_a_fleet_has_no_copy_or_source_in_the_url_of_its_state
    seating::a_host_has_no_more_seats_than_its_limit_whoever_asks
    seating::the_seats_of_a_dead_worker_are_free_with_its_sources_and_the_dead_get_none
    seating::a_rest_is_heard_of_by_all_and_forgotten_once
    seating::workers_at_the_same_time_get_no_seat_twice
    seating::looks_at_a_host_are_counted_over_all_workers
    seating::o513_lanes_that_nobody_is_in_are_forgotten_with_their_pauses
}
