//! The state of a copy after a run, whatever the Source does.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "destination/support.rs"]
mod support;

#[path = "destination/addresses.rs"]
mod addresses;
#[path = "destination/algorithms.rs"]
mod algorithms;
#[path = "destination/auditing.rs"]
mod auditing;
#[path = "destination/baseline.rs"]
mod baseline;
#[path = "destination/batch.rs"]
mod batch;
#[path = "destination/caches.rs"]
mod caches;
#[path = "destination/change_dumps.rs"]
mod change_dumps;
#[path = "destination/deletions.rs"]
mod deletions;
#[path = "destination/difference_dumps.rs"]
mod difference_dumps;
#[path = "destination/dumps.rs"]
mod dumps;
#[path = "destination/following.rs"]
mod following;
#[path = "destination/gaps.rs"]
mod gaps;
#[path = "destination/guards.rs"]
mod guards;
#[path = "destination/incremental.rs"]
mod incremental;
#[path = "destination/indexes.rs"]
mod indexes;
#[path = "destination/linked_versions.rs"]
mod linked_versions;
#[path = "destination/lost_documents.rs"]
mod lost_documents;
#[path = "destination/lost_versions.rs"]
mod lost_versions;
#[path = "destination/missing_metadata.rs"]
mod missing_metadata;
#[path = "destination/networks.rs"]
mod networks;
#[path = "destination/omitted_times.rs"]
mod omitted_times;
#[path = "destination/own_source.rs"]
mod own_source;
#[path = "destination/parts.rs"]
mod parts;
#[path = "destination/patches.rs"]
mod patches;
#[path = "destination/pending.rs"]
mod pending;
#[path = "destination/protection.rs"]
mod protection;
#[path = "destination/read_only_runs.rs"]
mod read_only_runs;
#[path = "destination/removals.rs"]
mod removals;
#[path = "destination/renamed_sets.rs"]
mod renamed_sets;
#[path = "destination/restored.rs"]
mod restored;
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
#[path = "destination/times_as_days.rs"]
mod times_as_days;
#[path = "destination/unusable.rs"]
mod unusable;
#[path = "destination/versions.rs"]
mod versions;
#[path = "destination/wrong_kinds.rs"]
mod wrong_kinds;
#[path = "destination/wrong_times.rs"]
mod wrong_times;
