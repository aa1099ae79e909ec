//! Output for people and programs: results on standard output, everything else on standard error. Here are the monitors
//! that turn events of the libraries into lines, progress bars, JSON and metrics.

pub(crate) mod changes;
pub(crate) mod format;
mod log;
pub(crate) mod metrics;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod publishing;
mod stream;

pub(crate) use log::start_log;
pub(crate) use output::{LineLevel, Output, document, translated, usage};
pub(crate) use stream::ResultWriter;
