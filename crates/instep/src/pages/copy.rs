//! The pages of a copy: whether it is in step, what is under way, what went wrong and what to do about it.

mod hosts;
mod json;
mod lag;
mod live;
mod overview;
mod pending;
mod runs;
mod server;

pub(crate) use self::{json::to_json, live::CopyMonitor, server::CopyServer};
