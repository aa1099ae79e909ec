//! A ResourceSync Destination: documents -> a verified copy.

mod audit;
mod discover;
mod documents;
mod error;
mod fetch;
pub mod http;
pub mod listen;
pub mod map;
mod monitor;
mod options;
mod package;
mod patch;
pub mod plan;
mod report;
pub mod state;
pub mod store;
mod sync;
