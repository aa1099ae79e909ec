//! What the command line says; flag > environment `INSTEP_*` > `instep.toml`.

pub(crate) mod access;
pub(crate) mod callbacks;
pub(crate) mod channels;
pub(crate) mod rules;
pub(crate) mod selection;
pub(crate) mod server;
pub(crate) mod serving;
pub(crate) mod sets;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod values;

use std::{ffi::OsString, path::PathBuf};

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, ValueEnum, builder::FalseyValueParser};

use crate::{command::Command, config::Config, exit};

/// Keeps copies of web resources in step with their source.
///
/// A Source publishes a folder as ResourceSync documents (`publish`, `serve`); a Destination makes a verified copy of
/// it and keeps it current (`sync`, `audit`).
#[derive(Debug, Parser)]
#[command(name = "instep", version, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  instep demo                                      see everything at once, on this machine
  instep serve ./data                              publish a folder and serve it
  instep publish ./data --base-url https://example.org/data/
  instep sync https://example.org/ ./copy          make or refresh a copy
  instep audit https://example.org/ ./copy         is the copy right?

See also: instep help exit-codes";

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Results and problems as JSON, one object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more; twice for each request
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Whether to draw progress
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: When,
    /// How log lines look
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// Configuration file [default: ./instep.toml, else the user's]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// A choice that can be left to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// If standard error is a terminal
    Auto,
    /// Yes
    Always,
    /// No
    Never,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The command with its environment variables.
pub(crate) fn command() -> clap::Command {
    with_environment(Cli::command().args_override_self(true))
}

/// Reads the command line, after the configuration file has filled in what neither it nor the environment says.
pub(crate) fn parse(argv: Vec<OsString>) -> anyhow::Result<(Cli, Config), clap::Error> {
    let mut command = command();
    let fail = |command: &mut clap::Command, error: anyhow::Error| {
        command.error(clap::error::ErrorKind::InvalidValue, format!("{error:#}"))
    };
    let config = Config::find(&argv).map_err(|error| fail(&mut command, error))?;
    let argv = config.fill_in(argv, &command).map_err(|error| fail(&mut command, error))?;
    let matches = command.try_get_matches_from(argv)?;
    Ok((Cli::from_arg_matches(&matches)?, config))
}

/// Gives each option its variable: `--base-url` reads `INSTEP_BASE_URL`.
fn with_environment(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| {
        let Some(long) = arg.get_long().filter(|long| *long != "help" && *long != "version") else {
            return arg;
        };
        let name = variable(long);
        match arg.get_action() {
            ArgAction::SetTrue => arg.value_parser(FalseyValueParser::new()).env(name).hide_env(true),
            ArgAction::Set | ArgAction::Append => arg.env(name).hide_env(true),
            _ => arg,
        }
    });
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_environment))
}

/// The environment variable of an option.
pub(crate) fn variable(long: &str) -> String {
    format!("INSTEP_{}", long.replace('-', "_").to_ascii_uppercase())
}

/// Prints the exit codes; reached as `instep help exit-codes` too.
#[derive(Debug, Args)]
#[command(about = "The exit codes", long_about = exit::table())]
pub(crate) struct ExitCodes {}
