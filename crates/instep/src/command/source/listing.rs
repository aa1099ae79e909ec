//! `instep source list` and `instep source show`: prints the Sources of a fleet.

use instep_destination::Status;
use instep_fleet::{FleetPlace, FleetRecord, FleetSource, SourceName, SourceState};
use resourcesync::DateTime;

use super::acting::seconds;
use crate::{
    exit::Exit,
    pages::source_object,
    ui::{
        Output,
        format::{bytes, counted, name as shown},
    },
};

/// Prints a line for each Source, or only for those in a state.
pub(super) fn list(
    record: &FleetRecord,
    state: Option<SourceState>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let now = seconds();
    let sources = record.sources()?;
    let listed = sources.iter().filter(|source| state.is_none_or(|state| source.state(now) == state));
    let mut number = 0;
    for source in listed {
        number += 1;
        let standing = &source.standing;
        let held = format!("{}, {}", counted(standing.held, "resource"), bytes(standing.bytes));
        output.line(format!(
            "{:<11} {:<24} {held:<26} next {}  {}",
            source.state(now).as_str(),
            source.definition.name.as_str(),
            next(source, now),
            shown(&source.definition.url)
        ));
        output.object("source", source_object(source, now));
    }
    output.note(counted(number, "Source"));
    if sources.is_empty() {
        output.note("Add one with: instep source add URL");
    }
    Ok(Exit::Done)
}

/// Prints everything that is known about one Source.
pub(super) fn show(
    record: &FleetRecord,
    fleet: &FleetPlace,
    name: &SourceName,
    output: &Output,
) -> anyhow::Result<Exit> {
    let now = seconds();
    let source = record.source(name)?;
    let standing = &source.standing;
    output.line(format!("Source      {name}: {}", source.state(now)));
    output.line(format!("URL         {}", shown(&source.definition.url)));
    output.line(format!("Copy        {}", place_of_copy(&source, fleet)));
    output.line(format!("Held        {}, {}", counted(standing.held, "resource"), bytes(standing.bytes)));
    if let Some(size) = standing.sized {
        output.line(format!("Sized       {}, {}", counted(size.resources, "resource"), bytes(size.bytes)));
    }
    if standing.pending > 0 {
        output.line(format!("Pending     {}", counted(standing.pending, "resource")));
    }
    output.line(format!("Up to       {}", moment(standing.checkpoint)));
    let meaning = standing.exit_code.map(|code| format!("; {}", Exit::from_code(code).in_short()));
    output.line(format!("Last run    {}{}", moment(standing.ended), meaning.unwrap_or_default()));
    if !standing.summary.is_empty() {
        output.line(format!("            {}", shown(&standing.summary)));
    }
    if standing.failures > 0 {
        output.line(format!("Failures    {} in a row", standing.failures));
    }
    output.line(format!("Next run    {}", next(&source, now)));
    output.object("source", source_object(&source, now));
    Ok(Exit::Done)
}

/// Returns the place of the bytes of a copy. It is read from the state of the copy, because object storage is named by
/// an option of the workers, which this command does not have.
fn place_of_copy(source: &FleetSource, fleet: &FleetPlace) -> String {
    let copy = source.definition.copy(fleet);
    match copy.status() {
        Ok(Status { objects: Some(objects), .. }) => objects.place,
        Err(_) if fleet.state.is_some() && source.definition.into.is_none() => "none yet".to_owned(),
        _ => copy.dir.display().to_string(),
    }
}

/// Returns the time of the next run; `now` also during a run, and if one waits for its turn.
fn next(source: &FleetSource, now: i64) -> String {
    let standing = &source.standing;
    match standing {
        _ if standing.paused => "when resumed".to_owned(),
        _ if standing.waits_for_approval(source.definition.approve) => "when approved".to_owned(),
        _ if standing.wanted || standing.due <= now => "now".to_owned(),
        _ => moment(Some(standing.due)),
    }
}

fn moment(seconds: Option<i64>) -> String {
    seconds.map_or_else(|| "none yet".to_owned(), |seconds| DateTime::from_unix_seconds(seconds).to_string())
}
