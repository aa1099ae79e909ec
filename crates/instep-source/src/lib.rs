//! A ResourceSync Source: what changed -> documents, and a server over them.

pub mod catalogue;
pub mod content;
mod dump;
mod error;
pub mod live;
mod monitor;
pub mod notify;
mod options;
mod publish;
pub mod render;
pub mod scan;
pub mod serve;
pub mod sink;
