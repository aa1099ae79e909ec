//! Storage that is never wrong: the stores' contract, groups, names, faults, crashes.

#[path = "storage/bench.rs"]
mod bench;
#[path = "storage/contract.rs"]
mod contract;
#[path = "storage/crashes.rs"]
mod crashes;
#[path = "storage/exhaustion.rs"]
mod exhaustion;
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
