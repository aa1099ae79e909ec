//! Starts the log of the libraries (`tracing`) on standard error. Results and notes of commands are in `output.rs`.

use std::{env, io};

use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use super::stream::{LogWriter, has_color};
use crate::global::{Global, LogFormat};

/// Starts the log: warnings, with `-v` also actions, with `-vv` each request. `INSTEP_LOG` sets another filter.
pub(crate) fn start_log(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => LevelFilter::ERROR,
        (_, 0) => LevelFilter::WARN,
        (_, 1) => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    // A target is a prefix: `instep` is that of all crates of this workspace except `resourcesync`.
    let default = || Targets::new().with_targets(["instep", "resourcesync"].map(|name| (name, level)));
    let named =
        env::var("INSTEP_LOG").ok().map(|text| text.parse::<Targets>().map_err(|error| (text, error)));
    let (named, wrong) = match named {
        Some(Err(wrong)) => (None, Some(wrong)),
        named => (named.and_then(Result::ok), None),
    };
    let targets = named.unwrap_or_else(default);
    let writer = LogWriter { is_json: global.log_format == LogFormat::Json };
    let log = fmt().with_max_level(LevelFilter::TRACE).with_writer(writer);
    let log = log.with_ansi(has_color(&io::stderr()));
    // The result is ignored: a second start in one process, as in a test that runs two commands, fails and changes
    // nothing.
    let _ = match global.log_format {
        LogFormat::Text => log.with_target(false).finish().with(targets).try_init(),
        LogFormat::Json => log.json().flatten_event(true).finish().with(targets).try_init(),
    };
    if let Some((text, error)) = wrong {
        tracing::warn!(
            "INSTEP_LOG={text:?} is not used: {error}; write a filter such as instep_destination=debug"
        );
    }
}
