//! Notifications between our programs and other people's, in each role.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "push/support.rs"]
mod support;

#[path = "push/destination.rs"]
mod destination;
#[path = "push/fleet.rs"]
mod fleet;
#[path = "push/framework.rs"]
mod framework;
#[path = "push/source.rs"]
mod source;
#[path = "push/together.rs"]
mod together;
