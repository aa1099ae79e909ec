//! `instep source`: adds, lists and operates the Sources of a fleet, directly in its record. A running `instep run`
//! sees the changes there.

mod acting;
mod adding;
mod listing;

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use instep_fleet::{FleetPlace, FleetRecord, SourceName, SourceOperation};
use serde_json::json;

use crate::{args::fleet::FleetArgs, exit::Exit, ui::Output};
use acting::{operator, seconds};
use adding::{AddArgs, ImportArgs};

/// Add, list, approve, pause and remove the Sources that `instep run` keeps current
///
/// A running `instep run` takes up changes within a second; without one they wait for its next start. Sources of the
/// configuration file are changed there.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SourceCommand {
    #[command(flatten)]
    fleet: FleetArgs,
    #[command(subcommand)]
    task: SourceTask,
}

const EXAMPLES: &str = "\
Examples:
  instep source add https://example.org/ --every 1h
  instep source import sources.opml --approve
  instep source list --state failing
  instep source approve example.org
  instep source run example.org";

#[derive(Debug, Subcommand)]
enum SourceTask {
    /// Add a Source
    Add(Box<AddArgs>),
    /// Add the Sources of a list: URLs, OPML or CSV
    ///
    /// Names come from the list, else from the URLs. A URL that the fleet has already is skipped. An invalid line, or a
    /// URL with a login, is reported and left out, and the exit code is 3.
    Import(Box<ImportArgs>),
    /// List the Sources with their state, or those in a state: --state failing
    ///
    /// With --state in-step, done, behind, failing, quarantined, paused, waiting or new only those; --state URL is the
    /// database of the fleet as everywhere, and both can be given.
    List,
    /// Show one Source
    Show(NameArgs),
    /// Run Sources now; also ends their quarantine
    Run(NamesArgs),
    /// Start no runs of Sources until they are resumed
    Pause(NamesArgs),
    /// End the pause of Sources
    Resume(NamesArgs),
    /// Let the first synchronization of Sources begin
    Approve(NamesArgs),
    /// Remove Sources from the fleet; their copies stay
    Remove(NamesArgs),
}

#[derive(Debug, Args)]
struct NameArgs {
    /// Name of the Source
    name: SourceName,
}

#[derive(Debug, Args)]
struct NamesArgs {
    /// Names of the Sources
    #[arg(required = true, value_name = "NAME")]
    names: Vec<SourceName>,
}

impl SourceCommand {
    /// Runs the command.
    pub(crate) fn run(mut self, output: &Output) -> anyhow::Result<Exit> {
        let wanted = match self.task {
            SourceTask::List => self.fleet.take_state_of_sources()?,
            _ => None,
        };
        let fleet = &self.fleet.place();
        match self.task {
            SourceTask::Add(add) => add.run(fleet, output),
            SourceTask::Import(import) => import.run(fleet, output),
            SourceTask::List => listing::list(&FleetRecord::existing(fleet)?, wanted, output),
            SourceTask::Show(show) => {
                listing::show(&FleetRecord::existing(fleet)?, fleet, &show.name, output)
            }
            SourceTask::Run(names) => names.act(fleet, SourceOperation::Run, ("run", "due now"), output),
            SourceTask::Pause(names) => names.act(fleet, SourceOperation::Pause, ("pause", "paused"), output),
            SourceTask::Resume(names) => {
                names.act(fleet, SourceOperation::Resume, ("resume", "resumed"), output)
            }
            SourceTask::Approve(names) => {
                names.act(fleet, SourceOperation::Approve, ("approve", "approved"), output)
            }
            SourceTask::Remove(names) => {
                names.act(fleet, SourceOperation::Forget, ("remove", "removed; its copy stays"), output)
            }
        }
    }
}

impl NamesArgs {
    /// Carries out an operation, and prints its outcome for people, or its name for programs.
    fn act(
        self,
        fleet: &FleetPlace,
        operation: SourceOperation,
        (action, outcome): (&str, &str),
        output: &Output,
    ) -> anyhow::Result<Exit> {
        let Self { mut names } = self;
        // A name that is given twice is of one Source, which can be removed once.
        let mut given = BTreeSet::new();
        names.retain(|name| given.insert(name.clone()));
        FleetRecord::existing(fleet)?.operate(operation, &names, (&operator(), seconds()))?;
        for name in &names {
            output.closing(format!("{name}: {outcome}"));
            output.object("source", json!({ "name": name, "action": action }));
        }
        Ok(Exit::Done)
    }
}
