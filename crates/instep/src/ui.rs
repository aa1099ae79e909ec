//! What a person or a program sees: results on stdout, everything else on stderr.

pub(crate) mod changes;
pub(crate) mod format;
pub(crate) mod metrics;
mod output;
pub(crate) mod progress;
pub(crate) mod publishing;

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

pub(crate) use output::Output;

use crate::{
    args::{Global, LogFormat},
    exit::Exit,
};

/// Log lines go to stderr: warnings, with `-v` what is done, with `-vv` each request.
pub(crate) fn start_log(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => LevelFilter::ERROR,
        (_, 0) => LevelFilter::WARN,
        (_, 1) => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    // A target is a prefix: the first is every crate of this workspace but one.
    let default = || Targets::new().with_targets(["instep", "resourcesync"].map(|name| (name, level)));
    let targets = std::env::var("INSTEP_LOG").ok().and_then(|text| text.parse().ok()).unwrap_or_else(default);
    let log =
        fmt().with_max_level(LevelFilter::TRACE).with_writer(io::stderr).with_ansi(has_color(&io::stderr()));
    // A second start fails and changes nothing, as in a test that runs two commands.
    let _ = match global.log_format {
        LogFormat::Text => log.with_target(false).finish().with(targets).try_init(),
        LogFormat::Json => log.json().finish().with(targets).try_init(),
    };
}

/// Prints what is wrong with the command line, or the help that was asked for.
pub(crate) fn usage(message: &clap::Error) -> Exit {
    let _ = message.print();
    if message.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// Whether a stream shows colours: a terminal, unless `NO_COLOR` says otherwise.
pub(crate) fn has_color(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes a line. A reader that has gone away ends the program in peace, as it ends `cat`.
fn write_line(mut stream: impl Write, line: &str) {
    if let Err(error) = writeln!(stream, "{line}")
        && error.kind() == io::ErrorKind::BrokenPipe
    {
        std::process::exit(Exit::Done.code().into());
    }
}
