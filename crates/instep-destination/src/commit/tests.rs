//! Tests of commits: the contract of stores, groups, names, faults and crashes.

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
mod unreadable_packs;
