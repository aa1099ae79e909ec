//! The pages of a copy: its state, the run in progress, problems and what to do about them.

mod figures;
mod hosts;
mod json;
mod lag;
mod live;
mod overview;
mod pending;
mod runs;
mod server;
mod shown;

pub(crate) use self::{
    figures::LiveFigures,
    json::to_json,
    live::{CopyMonitor, HostThroughput},
    server::CopyServer,
    shown::{first_page, pending_page, runs_page},
};
pub(crate) use hosts::table as hosts_table;
