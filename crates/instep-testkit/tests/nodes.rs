//! A Source whose catalogue is in PostgreSQL: its publications, and several machines of which one publishes.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "nodes/publishing.rs"]
mod publishing;
#[path = "nodes/serving.rs"]
mod serving;
#[path = "nodes/source.rs"]
mod source;
#[path = "nodes/subscribers.rs"]
mod subscribers;
