//! One file per subcommand: its arguments, and what it does with the libraries.

mod audit;
mod catalogue;
mod change;
mod completions;
mod demo;
mod explain;
mod explore;
mod publish;
mod republish;
mod serve;
mod simulate;
mod status;
mod sync;
mod validate;

use clap::Subcommand;

use crate::{args::ExitCodes, config::Config, exit, exit::Exit, ui::Output};

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Publish(Box<publish::Publish>),
    Serve(Box<serve::Serve>),
    Change(change::Change),
    Catalogue(catalogue::Catalogue),
    Republish(Box<republish::Republish>),
    Sync(Box<sync::Sync>),
    Audit(Box<audit::Audit>),
    Status(status::Status),
    Simulate(Box<simulate::Simulate>),
    Explore(explore::Explore),
    Validate(Box<validate::Validate>),
    Explain(explain::Explain),
    Completions(completions::Completions),
    #[command(name = "exit-codes")]
    ExitCodes(ExitCodes),
}

/// Does it.
pub(crate) fn run(command: Command, config: &Config, output: &Output) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(demo) => demo.run(output),
        Command::Publish(publish) => publish.run(config, output),
        Command::Serve(serve) => serve.run(config, output),
        Command::Change(change) => change.run(output),
        Command::Catalogue(catalogue) => catalogue.run(output),
        Command::Republish(republish) => republish.run(config, output),
        Command::Sync(sync) => sync.run(config, output),
        Command::Audit(audit) => audit.run(config, output),
        Command::Simulate(simulate) => simulate.run(output),
        Command::Status(status) => status.run(output),
        Command::Explore(explore) => explore.run(config, output),
        Command::Validate(validate) => validate.run(config, output),
        Command::Explain(explain) => explain.run(output),
        Command::Completions(completions) => completions.run(),
        Command::ExitCodes(_) => {
            output.line(exit::table().trim_end());
            Ok(Exit::Done)
        }
    }
}
