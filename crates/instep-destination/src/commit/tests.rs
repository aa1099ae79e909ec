//! Storage that is never wrong: the stores' contract, groups, names, faults, crashes.

mod bench;
mod changes;
mod contract;
mod crashes;
mod exhaustion;
mod foreign;
mod groups;
mod kills;
mod links;
mod lists;
mod names;
mod syncs;
