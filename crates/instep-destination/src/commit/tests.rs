//! Storage that is never wrong: the stores' contract, groups, names, faults, crashes.

mod actions;
mod bench;
mod changes;
mod contract;
mod crashes;
mod exhaustion;
mod foreign;
mod groups;
mod kills;
mod links;
mod names;
mod packs;
mod stores;
mod syncs;
