//! The contract of a catalogue: the same tests for each engine.
//!
//! Each test gets a new, empty place for a catalogue, and may open the catalogue there several times: so it sees what the
//! engine stored. SQLite is always there; the tests start a PostgreSQL server.

mod looking;
#[cfg(feature = "postgres")]
mod random;
mod recording;
mod support;
mod upkeep;

use support::ContractPlace;

/// Makes a test of each function for each engine.
macro_rules! each_engine {
    ($($room:ident::$test:ident)*) => {
        mod sqlite {
            $(#[test] fn $test() { super::$room::$test(&super::ContractPlace::file()) })*
        }

        /// All tests, with their names.
        #[cfg(feature = "postgres")]
        const ALL: &[(&str, fn(&ContractPlace))] = &[$((stringify!($test), $room::$test)),*];
    };
}

/// One test, because the tests of the contract share a server and a schema; each of them has a Source of its own.
#[cfg(feature = "postgres")]
#[test]
fn postgres_keeps_the_contract() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    keep(&server, "instep");
}

/// While servers are upgraded one after the other, this version works with tables to which a later version has already
/// added what a step may add (`TableStep::Adds`).
#[cfg(feature = "postgres")]
#[test]
fn postgres_keeps_the_contract_with_tables_to_which_a_later_version_has_added() {
    let Some(server) = instep_testkit::PostgresServer::start() else { return };
    let url = format!("{}?schema=later", server.url());
    drop(ContractPlace::at(&format!("{url}&source=first")).open());
    let address = instep_postgres::Address::parse(&url).unwrap().beside("_source").unwrap();
    let added = instep_testkit::additions_of_a_later_version("source");
    instep_postgres::Session::open(&address).unwrap().batch(&added).unwrap();
    keep(&server, "later");
}

/// Runs each test with a Source of its own in a schema.
#[cfg(feature = "postgres")]
fn keep(server: &instep_testkit::PostgresServer, schema: &str) {
    instep_testkit::keep_contract(ALL.iter().map(|(name, test)| {
        let url = format!("{}?schema={schema}&source={name}", server.url());
        (*name, move || test(&ContractPlace::at(&url)))
    }));
}

each_engine! {
    looking::p14_a_folder_has_its_own_items_only_each_once
    looking::p14_a_search_finds_every_part_of_a_uri_and_takes_no_wildcards
    looking::p14_changes_are_counted_by_kind_and_outlive_the_log
    looking::stamps_come_in_the_order_of_keys_within_a_range
    looking::outlines_and_totals_agree_with_the_resources
    looking::the_changes_of_one_resource_come_newest_first
    recording::whatever_is_known_of_a_resource_is_read_back
    recording::a_snapshot_does_not_see_what_is_recorded_after_it
    recording::what_many_record_at_once_is_recorded_once_each
    recording::before_the_baseline_nothing_is_logged_and_after_it_everything
    recording::bytes_that_are_known_are_no_change_whatever_else_is_new
    recording::a_resource_that_leaves_a_set_is_deleted_there_and_no_where_else
    recording::one_key_may_come_several_times_in_a_batch
    recording::times_go_on_after_those_of_another_process
    upkeep::forgotten_changes_are_gone_and_the_head_says_so
    upkeep::times_lead_to_sequences
    upkeep::kept_values_are_replaced_and_dropped
    upkeep::patches_are_kept_with_their_changes
    upkeep::versions_are_kept_by_number_and_age
    upkeep::a_source_that_moves_keeps_its_history_under_the_new_uris
    upkeep::o60_a_source_moves_below_its_own_base_url
    upkeep::o821_sets_that_get_other_numbers_keep_their_resources_and_changes
    upkeep::a_catalogue_is_read_beside_its_writer_and_not_written
}
