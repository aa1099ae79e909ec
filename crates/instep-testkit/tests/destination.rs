//! The state of a copy after a run, whatever the Source does.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "destination/support.rs"]
mod support;

#[path = "destination/addresses.rs"]
mod addresses;
#[path = "destination/auditing.rs"]
mod auditing;
#[path = "destination/baseline.rs"]
mod baseline;
#[path = "destination/batch.rs"]
mod batch;
#[path = "destination/change_dumps.rs"]
mod change_dumps;
#[path = "destination/days.rs"]
mod days;
#[path = "destination/deletions.rs"]
mod deletions;
#[path = "destination/differences.rs"]
mod differences;
#[path = "destination/dumps.rs"]
mod dumps;
#[path = "destination/following.rs"]
mod following;
#[path = "destination/gaps.rs"]
mod gaps;
#[path = "destination/guarding.rs"]
mod guarding;
#[path = "destination/guards.rs"]
mod guards;
#[path = "destination/incremental.rs"]
mod incremental;
#[path = "destination/indexes.rs"]
mod indexes;
#[path = "destination/instead.rs"]
mod instead;
#[path = "destination/kinds.rs"]
mod kinds;
#[path = "destination/looking.rs"]
mod looking;
#[path = "destination/lost.rs"]
mod lost;
#[path = "destination/ours.rs"]
mod ours;
#[path = "destination/patches.rs"]
mod patches;
#[path = "destination/pending.rs"]
mod pending;
#[path = "destination/removals.rs"]
mod removals;
#[path = "destination/selecting.rs"]
mod selecting;
#[path = "destination/sets.rs"]
mod sets;
#[path = "destination/shared.rs"]
mod shared;
#[path = "destination/sitemaps.rs"]
mod sitemaps;
#[path = "destination/sources.rs"]
mod sources;
#[path = "destination/stopping.rs"]
mod stopping;
#[path = "destination/times.rs"]
mod times;
#[path = "destination/unsaid.rs"]
mod unsaid;
#[path = "destination/untimed.rs"]
mod untimed;
#[path = "destination/unusable.rs"]
mod unusable;
#[path = "destination/versions.rs"]
mod versions;
