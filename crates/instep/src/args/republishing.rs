//! `sync` and `republish` share the options of a Source, for copies that are published again. Some of these options
//! have no effect there; they are refused here, or described differently in the help.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, error::ErrorKind, parser::ValueSource};

use super::headings::{ADMINISTRATION, NOTIFICATION, SERVING, VERSIONS};

/// Refuses an option of a Source, such as `--base-url` or `--tls-cert`, without `--republish`. The pages of a copy have
/// `--listen` only: they would be served without the certificate that was named.
///
/// A variable of the environment may be meant for another command, so it is no error.
pub(crate) fn refuse_alone(command: &Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(("sync", given)) = matches.subcommand() else { return Ok(()) };
    if given.get_flag("republish") {
        return Ok(());
    }
    let arguments = command.find_subcommand("sync").into_iter().flat_map(Command::get_arguments);
    let is_given = |arg: &&Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let Some(option) = arguments.filter(|arg| is_of_source(arg)).find(is_given).and_then(Arg::get_long)
    else {
        return Ok(());
    };
    let what = format!(
        "--{option} is an option of a Source: it has an effect on a copy that is published again only; add --follow \
         --republish, or leave it out\n"
    );
    Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, what))
}

/// Describes an option of a Source as `republish` has it. `--from` is hidden, and stays because the table of `publish` may
/// have it.
pub(crate) fn for_copies(arg: Arg) -> Arg {
    match arg.get_id().clone().as_str() {
        "out" => arg.hide_short_help(true),
        "state" => {
            arg.help("Folder for the catalogue, and what else a Source keeps [default: COPY/.instep/source]")
        }
        "from" => arg.hide(true),
        _ => arg,
    }
}

/// Refuses options of `republish` that have no effect: `--from`, since its content is copies, and those of a server
/// without `--listen`.
///
/// The file and the environment may have them for `publish` or `serve`, so only options among the `typed` words are
/// refused.
pub(crate) fn refuse_for_copies(
    command: &Command,
    matches: &ArgMatches,
    typed: &[OsString],
) -> Result<(), clap::Error> {
    let Some(("republish", given)) = matches.subcommand() else { return Ok(()) };
    let is_served = given.contains_id("listen");
    // The typed words alone may lack what the file provides. Then there is nothing to refuse here.
    let Ok(typed) = command.clone().try_get_matches_from(typed) else { return Ok(()) };
    let Some((_, typed)) = typed.subcommand() else { return Ok(()) };
    let arguments = command.find_subcommand("republish").into_iter().flat_map(Command::get_arguments);
    let is_typed = |arg: &&Arg| typed.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    for arg in arguments.filter(is_typed) {
        let option = arg.get_long().unwrap_or_default();
        let what = if option == "from" {
            "--from names other content than copies; use it with publish or serve, or leave it out\n"
                .to_owned()
        } else if !is_served && needs_server(arg) {
            format!("--{option} needs a server; add --listen, or leave it out\n")
        } else {
            continue;
        };
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, what));
    }
    Ok(())
}

fn needs_server(arg: &Arg) -> bool {
    let is_heading =
        matches!(arg.get_help_heading(), Some(SERVING | NOTIFICATION | ADMINISTRATION | VERSIONS));
    is_heading && !["listen", "base_url"].contains(&arg.get_id().as_str())
}

fn is_of_source(arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    let is_heading = matches!(arg.get_help_heading(), Some(SERVING | NOTIFICATION));
    is_heading && id != "listen" || id.starts_with("versions")
}
