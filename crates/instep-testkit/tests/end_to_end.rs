//! The program as a person runs it: commands, exit codes, and hostile Sources beside the reference client.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "end_to_end/chain.rs"]
mod chain;
#[path = "end_to_end/configurations.rs"]
mod configurations;
#[path = "end_to_end/conforming.rs"]
mod conforming;
#[path = "end_to_end/copies.rs"]
mod copies;
#[path = "end_to_end/damages.rs"]
mod damages;
#[path = "end_to_end/disk.rs"]
mod disk;
#[path = "end_to_end/errors.rs"]
mod errors;
#[path = "end_to_end/events.rs"]
mod events;
#[path = "end_to_end/exit_codes.rs"]
mod exit_codes;
#[path = "end_to_end/full_disk.rs"]
mod full_disk;
#[path = "end_to_end/hostile.rs"]
mod hostile;
#[path = "end_to_end/interrupted.rs"]
mod interrupted;
#[path = "end_to_end/kills.rs"]
mod kills;
#[path = "end_to_end/messages.rs"]
mod messages;
#[path = "end_to_end/operator.rs"]
mod operator;
#[path = "end_to_end/patches.rs"]
mod patches;
#[path = "end_to_end/relays.rs"]
mod relays;
#[path = "end_to_end/republished.rs"]
mod republished;
#[path = "end_to_end/samples.rs"]
mod samples;
#[path = "end_to_end/sets.rs"]
mod sets;
#[path = "end_to_end/simulated.rs"]
mod simulated;
#[path = "end_to_end/story.rs"]
mod story;
#[path = "end_to_end/validate.rs"]
mod validate;
