//! Makes the overview after a publication.

use resourcesync::Uri;

use super::overview::{Overview, RecentChange, SetOverview};
use crate::{
    Error,
    catalogue::{ChangeCounts, Snapshot},
    publish::SourceContext,
};

/// The number of changes that pages show.
const RECENT: u64 = 50;
/// The number of hours whose changes pages show.
const HOURS: usize = 48;

/// Returns the overview of the Source after a publication.
pub(crate) fn overview(source: &SourceContext, before: &Overview) -> Result<Overview, Error> {
    let snapshot = source.catalogue().snapshot()?;
    let mut overview = Overview {
        base_url: source.place().base().to_owned(),
        sets: Vec::new(),
        changes: recent_changes(&snapshot)?,
        hours: snapshot.activity(1, HOURS)?.iter().map(ChangeCounts::total).collect(),
        published: Some(snapshot.at()),
        publications: before.publications + 1,
        unwatched_folders: before.unwatched_folders,
        failure: None,
    };
    for (number, set) in (0_u8..).zip(&source.options().sets) {
        let totals = snapshot.totals(number)?;
        overview.sets.push(SetOverview {
            name: set.name.clone(),
            capability_list: Some(capability_list(source, &set.name)),
            resources: totals.resources,
            bytes: totals.bytes,
        });
    }
    Ok(overview)
}

/// Returns the overview before a failed publication, with the reason. Everybody who can reach the server can read it.
pub(crate) fn failed(before: &Overview, error: &Error) -> Overview {
    Overview { failure: Some(error.public_text()), ..before.clone() }
}

fn recent_changes(snapshot: &Snapshot) -> Result<Vec<RecentChange>, Error> {
    let after = snapshot.head().sequence.saturating_sub(RECENT);
    let changes = snapshot.changes(u64::MAX, after).map(|change| Ok(RecentChange::from(change?)));
    let mut changes = changes.collect::<Result<Vec<_>, Error>>()?;
    changes.reverse();
    Ok(changes)
}

fn capability_list(source: &SourceContext, set: &str) -> Uri {
    source.place().set(set).capability_list()
}
