//! Options of a Source that `sync` has for a copy that is published again, and that mean nothing without that.

use clap::{Arg, ArgMatches, Command, error::ErrorKind, parser::ValueSource};

use super::headings::{NOTIFICATION, SERVING};

/// Refuses an option of a Source, such as `--base-url` or `--tls-cert`, without `--republish`. The pages of a copy have
/// `--listen` only: they would be served without the certificate that was named.
///
/// A variable of the environment may be meant for another command, so it is no fault.
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

fn is_of_source(arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    let is_heading = matches!(arg.get_help_heading(), Some(SERVING | NOTIFICATION));
    is_heading && id != "listen" || id.starts_with("versions")
}
