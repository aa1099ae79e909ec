//! Documents and resources over HTTP: run(listener, app, shutdown).

mod app;
mod cache;
mod condition;
mod connection;
mod documents;
mod facts;
mod file_body;
mod files;
mod observe;
mod overview;
mod page;
mod path;
mod range;
mod root;
mod stall;
mod tls;

pub use app::App;
pub use connection::{Limits, run};
pub use overview::{Overview, RecentChange, SetOverview};
pub use tls::Tls;
