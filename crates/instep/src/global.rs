//! Options of every command, and the name of an option's environment variable.

use std::{ffi::OsString, path::PathBuf};

use clap::{ArgAction, Args, ValueEnum};

/// The heading of these options; it comes last in each help text.
pub(crate) const HEADING: &str = "Global options";

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct Global {
    /// Print results and problems as JSON, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print a line per resource; -vv: also a line per request
    #[arg(short, long, global = true, action = ArgAction::Count, value_parser = verbosity)]
    pub(crate) verbose: u8,
    /// Draw progress bars
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_short_help = true)]
    pub(crate) progress: When,
    /// Format of standard error
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", hide_short_help = true)]
    pub(crate) log_format: LogFormat,
    /// Configuration file [default: ./instep.toml, else the user's]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
}

impl Global {
    /// Returns the output formats that a command line requests, found word by word: it is used for command lines that
    /// clap has refused.
    pub(crate) fn as_written(argv: &[OsString]) -> Self {
        let words: Vec<_> = argv.iter().filter_map(|word| word.to_str()).collect();
        let has = |word: &str| words.contains(&word);
        let of_environment = |long: &str| std::env::var(variable(long)).unwrap_or_default();
        let is_json_log = has("--log-format=json")
            || words.windows(2).any(|two| two == ["--log-format", "json"])
            || of_environment("log-format") == "json";
        Self {
            json: has("--json") || !matches!(&*of_environment("json"), "" | "0" | "false" | "no" | "off"),
            quiet: false,
            verbose: 0,
            progress: When::Never,
            log_format: if is_json_log { LogFormat::Json } else { LogFormat::Text },
            config: None,
        }
    }
}

/// A choice that can be left to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// If standard error is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The form of log lines, notes and problems on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Plain text
    Text,
    /// JSON, one object per line
    Json,
}

/// Reads the number of `-v` from an environment variable. An empty variable means 0.
fn verbosity(text: &str) -> Result<u8, &'static str> {
    if text.is_empty() { Ok(0) } else { text.parse().map_err(|_| "write 0, 1 or 2") }
}

/// Returns the environment variable of an option.
pub(crate) fn variable(long: &str) -> String {
    format!("INSTEP_{}", long.replace('-', "_").to_ascii_uppercase())
}
