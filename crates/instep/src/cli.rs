//! The command line: all commands, the definition that clap reads, and the way from the words to a running command.
//!
//! An option comes from the command line, else from its environment variable, else from `instep.toml`.

use std::{cell::RefCell, env, ffi::OsString, fs, os::unix::fs::FileTypeExt as _};

use anyhow::{Context, anyhow, bail};
use clap::{
    Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::{
        headings::{SERVING, VERSIONS},
        republishing,
    },
    command::{
        audit::AuditCommand, catalogue::CatalogueCommand, change::ChangeCommand,
        completions::CompletionsCommand, demo::DemoCommand, exit_codes::ExitCodesCommand,
        explain::ExplainCommand, explore::ExploreCommand, export::ExportCommand, init::InitCommand,
        publish::PublishCommand, republish::RepublishCommand, run::RunCommand, serve::ServeCommand,
        simulate::SimulateCommand, source::SourceCommand, state::StateCommand, status::StatusCommand,
        sync::SyncCommand, upgrade_sitemap::UpgradeSitemapCommand, validate::ValidateCommand,
    },
    config::{Config, slips},
    exit::Exit,
    global::{self, Global},
    ui::Output,
};

/// Publish a folder so that others can mirror it, and keep verified mirrors up to date, over plain HTTP
///
/// A Source publishes a folder as ResourceSync documents (`publish`, `serve`). A Destination makes a verified copy of
/// it and keeps the copy up to date (`sync`, `audit`).
#[derive(Debug, Parser)]
#[command(name = "instep", version, after_help = EXAMPLES, max_term_width = 100, disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

const EXAMPLES: &str = "\
Examples:
  instep serve ./data                              publish a folder and serve it
  instep sync https://example.org/ ./copy          make or update a copy
  instep run --listen 127.0.0.1:8090               keep many Sources current, with a dashboard
See also: instep help exit-codes, instep resync-sync --help (the options of resync)";

/// A command with its options.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoCommand),
    Init(Box<InitCommand>),
    Publish(Box<PublishCommand>),
    Serve(Box<ServeCommand>),
    Change(ChangeCommand),
    Catalogue(CatalogueCommand),
    Republish(Box<RepublishCommand>),
    #[command(name = "upgrade-sitemap")]
    UpgradeSitemap(UpgradeSitemapCommand),
    Sync(Box<SyncCommand>),
    Audit(Box<AuditCommand>),
    Run(Box<RunCommand>),
    Source(Box<SourceCommand>),
    Status(StatusCommand),
    State(StateCommand),
    Export(ExportCommand),
    Simulate(Box<SimulateCommand>),
    Explore(ExploreCommand),
    Validate(Box<ValidateCommand>),
    Explain(ExplainCommand),
    Completions(CompletionsCommand),
    #[command(name = "exit-codes")]
    ExitCodes(ExitCodesCommand),
}

/// Runs a command.
///
/// Errors: the failure that ended the command. Problems that it could go on with are in the exit code.
pub(crate) fn run(command: Command, config: &Config, output: &Output) -> anyhow::Result<Exit> {
    // The configuration that was read last: a command that runs for long reads it again on SIGHUP.
    let used = RefCell::new(config.clone());
    match command {
        Command::Demo(demo) => demo.run(output),
        Command::Init(init) => init.run(config, output),
        Command::Publish(publish) => publish.run(config, output),
        Command::Serve(serve) => {
            let pick = |command| if let Command::Serve(serve) = command { Some(*serve) } else { None };
            serve.run(config, &|is_forced| again(&used, pick, is_forced), output)
        }
        Command::Change(change) => change.run(output),
        Command::Catalogue(catalogue) => catalogue.run(output),
        Command::Republish(republish) => {
            let pick = |command| if let Command::Republish(again) = command { Some(*again) } else { None };
            republish.run(config, &|is_forced| again(&used, pick, is_forced), output)
        }
        Command::Sync(sync) => {
            let pick = |command| if let Command::Sync(sync) = command { Some(*sync) } else { None };
            sync.run(config, &|is_forced| again(&used, pick, is_forced), output)
        }
        Command::UpgradeSitemap(upgrade) => upgrade.run(output),
        Command::Audit(audit) => audit.run(config, output),
        Command::Run(run) => {
            let pick = |command| if let Command::Run(run) = command { Some(*run) } else { None };
            run.run(config, &|is_forced| again(&used, pick, is_forced), output)
        }
        Command::Source(source) => source.run(output),
        Command::Simulate(simulate) => simulate.run(output),
        Command::Status(status) => status.run(output),
        Command::State(state) => state.run(output),
        Command::Export(export) => export.run(output),
        Command::Explore(explore) => explore.run(config, output),
        Command::Validate(validate) => validate.run(config, output),
        Command::Explain(explain) => explain.run(output),
        Command::Completions(completions) => completions.run(definition(|_| true), output),
        Command::ExitCodes(codes) => codes.run(output),
    }
}

/// Reads the command line and the configuration again; `None` if the configuration is the one that was read last, unless
/// `is_forced`.
///
/// Errors: the configuration cannot be used, or its file is gone or a pipe. A file found elsewhere would belong to another
/// command, and without any file, or from a pipe that is empty by now, all settings would be reset.
fn again<T>(
    used: &RefCell<Config>,
    pick: fn(Command) -> Option<T>,
    is_forced: bool,
) -> anyhow::Result<Option<(T, Config)>> {
    let path = used.borrow().path().to_owned();
    if fs::metadata(&path).is_ok_and(|found| found.file_type().is_fifo()) {
        bail!("{} is a pipe, which can be read only once", path.display());
    }
    let (cli, config) =
        parse(env::args_os().collect()).map_err(|error| anyhow!("{}", error.to_string().trim()))?;
    if !path.as_os_str().is_empty() && path != config.path() {
        bail!("{} is gone; restore it, or empty it to set nothing", path.display());
    }
    if config == *used.borrow() && !is_forced {
        return Ok(None);
    }
    let command = pick(cli.command).context("The command line names another command")?;
    used.replace(config.clone());
    Ok(Some((command, config)))
}

/// Reads the command line; the configuration file provides values that neither it nor the environment sets.
pub(crate) fn parse(argv: Vec<OsString>) -> anyhow::Result<(Cli, Config), clap::Error> {
    // A command that no word names cannot be the one that runs, so its options need no variables.
    let mut command = definition(|name| argv.iter().any(|word| word == name));
    // A fault of the file is shown without the usage of a command, which has nothing to do with it (P25).
    let fail = |error: anyhow::Error| clap::Error::raw(ErrorKind::InvalidValue, format!("{error:#}\n"));
    let config = Config::find(&argv).map_err(fail)?;
    let filled = config.fill_in(argv.clone(), &command).map_err(fail)?;
    let matches = command.try_get_matches_from_mut(filled.clone());
    let matches = matches
        .map_err(|error| config.explain(without_far_suggestions(error), &mut command, (&argv, &filled)))
        .map_err(|error| with_word(error, &argv))?;
    republishing::refuse_alone(&command, &matches)?;
    republishing::refuse_for_copies(&command, &matches, &argv)?;
    Ok((Cli::from_arg_matches(&matches)?, config))
}

/// Returns an error that names the word of the command line that is not UTF-8, if that is the fault (O414).
fn with_word(error: clap::Error, argv: &[OsString]) -> clap::Error {
    let word = argv.iter().find(|word| word.to_str().is_none());
    let Some(word) = word.filter(|_| error.kind() == ErrorKind::InvalidUtf8) else { return error };
    let what = format!("{word:?} is not UTF-8; rename it, or give it another name with a symbolic link\n");
    clap::Error::raw(ErrorKind::InvalidUtf8, what)
}

/// Removes the suggestions of clap that only share letters with the wrong name and are not a typing error away from it.
fn without_far_suggestions(mut error: clap::Error) -> clap::Error {
    for (written, suggested) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(name)) = error.get(written).cloned() else { continue };
        let near = match error.remove(suggested) {
            Some(ContextValue::String(known)) => slips(&name, &known).map(|_| ContextValue::String(known)),
            Some(ContextValue::Strings(mut known)) => {
                known.retain(|known| slips(&name, known).is_some());
                (!known.is_empty()).then_some(ContextValue::Strings(known))
            }
            other => other,
        };
        if let Some(near) = near {
            error.insert(suggested, near);
        }
    }
    error
}

/// Returns the definition of the command line, each option of the program and of the commands with these names with its environment
/// variable.
fn definition(is_named: impl Fn(&str) -> bool) -> clap::Command {
    let command = with_variables(Cli::command().args_override_self(true))
        .mut_subcommands(|it| if is_named(it.get_name()) { with_environment(it) } else { it });
    // `sync` seldom publishes a copy again, so these options are in its long help only.
    let hide_serving = |arg: Arg| match arg.get_help_heading() {
        Some(SERVING | VERSIONS) => arg.hide_short_help(true),
        _ => arg,
    };
    let pages = "With --follow: address of pages about the copy; with --republish of the Source";
    let describe = |arg: Arg| if arg.get_id() == "listen" { arg.help(pages) } else { arg };
    // `mut_subcommand` would move the command behind the others in the help.
    command
        .mut_subcommands(|command| match command.get_name() {
            "sync" => command.mut_args(|arg| describe(hide_serving(arg))),
            "serve" => command.mut_arg("out", |arg| arg.hide_short_help(true)),
            "republish" => command.mut_args(republishing::for_copies),
            _ => command,
        })
        .arg(help_option())
        .arg(version_option())
}

/// Defines `-h` and `--help` as an ordinary option, so that it is listed among the global ones.
fn help_option() -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .global(true)
        .help_heading(global::HEADING)
        .help("Print the usual options (-h) or all of them (--help)")
}

/// Defines `-V` and `--version` for the program itself and not for its commands.
fn version_option() -> Arg {
    let option = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    option.help_heading(global::HEADING).help("Print the version")
}

/// Gives each option of a command, and of the commands below it, its variable.
fn with_environment(command: clap::Command) -> clap::Command {
    with_variables(command).mut_subcommands(with_environment)
}

/// Gives each option of one command its variable: `--base-url` reads `INSTEP_BASE_URL`. The variable of the configuration
/// file is read before the command line, with the file.
fn with_variables(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| {
        let Some(long) = arg.get_long().filter(|long| !["help", "version", "config"].contains(long)) else {
            return arg;
        };
        let name = global::variable(long);
        match arg.get_action() {
            ArgAction::SetTrue => arg.value_parser(switch).env(name).hide_env(true),
            // A negative number is a wrong value of the option before it, and no option that does not exist.
            ArgAction::Set | ArgAction::Append => arg.env(name).hide_env(true).allow_negative_numbers(true),
            ArgAction::Count => arg.env(name).hide_env(true),
            _ => arg,
        }
    })
}

/// Reads the environment variable of an option without a value. An empty variable means that the option is not set.
fn switch(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("write true or false"),
    }
}
