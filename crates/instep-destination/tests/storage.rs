//! Storage that is never wrong: the stores' contract, groups, names, faults, crashes.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]
#![expect(clippy::print_stderr, reason = "a test that has to be left out says so")]

#[path = "storage/bench.rs"]
mod bench;
#[path = "storage/changes.rs"]
mod changes;
#[path = "storage/contract.rs"]
mod contract;
#[path = "storage/crashes.rs"]
mod crashes;
#[path = "storage/exhaustion.rs"]
mod exhaustion;
#[path = "storage/foreign.rs"]
mod foreign;
#[path = "storage/groups.rs"]
mod groups;
#[path = "storage/kills.rs"]
mod kills;
#[path = "storage/links.rs"]
mod links;
#[path = "storage/lists.rs"]
mod lists;
#[path = "storage/names.rs"]
mod names;
#[path = "storage/syncs.rs"]
mod syncs;
