//! The command lines of the reference client `resync` 2.0.1, translated into those of this program.
//!
//! `instep resync-sync` takes the options of `resync-sync`; a link with that name to the program does the same. An
//! option without an equivalent is refused with the reason and an alternative: nothing is ignored silently.
//! `resync-build` has no equivalent and is implemented here.

mod build;
mod explorer;
mod status;
mod sync;
mod translation;

use std::{
    env,
    ffi::OsString,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, bail};
use clap::{CommandFactory, FromArgMatches, Parser, error::ErrorKind};

use crate::{exit::Exit, ui};
use translation::Translated;

/// Runs a command line of the reference client; `None` if it is not one.
pub(crate) fn run(argv: &[OsString]) -> Option<ExitCode> {
    let (name, rest) = command(argv)?;
    let translated = match name {
        "resync-sync" => translate::<sync::ResyncSync>(name, rest, sync::ResyncSync::translate),
        "resync-explorer" => {
            translate::<explorer::ResyncExplorer>(name, rest, explorer::ResyncExplorer::translate)
        }
        _ => return Some(built(rest)),
    };
    Some(match translated.map(|translated| start(&translated)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => ui::usage(&clap::Error::raw(ErrorKind::Io, format!("{error:#}\n")), &[]).into(),
        Err(error) => ui::usage(&error, &[]).into(),
    })
}

/// Returns the program of the reference client that is meant, and its arguments. It is named by the file name of this
/// program, or by the first argument; `None` if neither names one.
fn command(argv: &[OsString]) -> Option<(&'static str, &[OsString])> {
    const NAMES: [&str; 3] = ["resync-sync", "resync-build", "resync-explorer"];
    let called = Path::new(argv.first()?).file_stem();
    let is =
        |text: Option<&std::ffi::OsStr>| NAMES.into_iter().find(|name| text.is_some_and(|own| own == *name));
    is(called).map(|name| (name, &argv[1..])).or_else(|| {
        let first = argv.get(1)?;
        is(Some(first)).map(|name| (name, &argv[2..]))
    })
}

fn translate<P: Parser + CommandFactory + FromArgMatches>(
    name: &str,
    rest: &[OsString],
    translate: impl FnOnce(&P) -> anyhow::Result<Translated>,
) -> Result<Translated, clap::Error> {
    let argv = std::iter::once(OsString::from(name)).chain(rest.iter().cloned());
    let parsed = P::try_parse_from(argv)?;
    translate(&parsed).map_err(|error| P::command().error(ErrorKind::InvalidValue, format!("{error:#}")))
}

fn built(rest: &[OsString]) -> ExitCode {
    let argv = std::iter::once(OsString::from("resync-build")).chain(rest.iter().cloned());
    let build = match build::ResyncBuild::try_parse_from(argv) {
        Ok(build) => build,
        Err(error) => return ui::usage(&error, &[]).into(),
    };
    match build.run() {
        Err(error) if Exit::of(&error) == Exit::Usage => {
            let kind = ErrorKind::InvalidValue;
            ui::usage(&build::ResyncBuild::command().error(kind, format!("{error:#}")), &[]).into()
        }
        built => ui::document(&built).into(),
    }
}

/// Prints the translated command line and starts the program again with it. Returns only if that fails.
fn start(translated: &Translated) -> anyhow::Result<ExitCode> {
    let program = env::current_exe().context("The path of the program is not known")?;
    ui::translated(&translated.arguments);
    let mut command = Command::new(program);
    command.args(&translated.arguments);
    if let Some(token) = &translated.bearer {
        command.env("INSTEP_BEARER", token);
    }
    become_it(command)
}

/// Replaces this process by the command, so that signals reach the command itself.
#[cfg(unix)]
fn become_it(mut command: Command) -> anyhow::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    bail!("The program cannot be started again: {}", command.exec())
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> anyhow::Result<ExitCode> {
    let status = command.status().context("The program cannot be started again")?;
    match status.code() {
        Some(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(1))),
        None => bail!("The command was ended by the system"),
    }
}

#[cfg(test)]
mod tests;
