//! Many Sources kept current by one `instep run`: as an operator sees it, with Sources that fail, come, go and are paused,
//! and with a process that is killed.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "fleet/api.rs"]
mod api;
#[path = "fleet/database.rs"]
mod database;
#[path = "fleet/hangups.rs"]
mod hangups;
#[path = "fleet/mail.rs"]
mod mail;
#[path = "fleet/operators.rs"]
mod operators;
#[path = "fleet/sources.rs"]
mod sources;
#[path = "fleet/story.rs"]
mod story;
#[path = "fleet/support.rs"]
mod support;
#[path = "fleet/wrong_turns.rs"]
mod wrong_turns;
