//! The choice between Resource List, Change List and dumps, by their costs. It reads nothing itself.

use std::{fmt, time::Duration};

use resourcesync::DateTime;

use super::Reach;
use crate::{Error, Via};

/// The way that updates the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Strategy {
    /// The Source lists nothing new: neither inventory nor changes are read.
    Nothing,
    /// The Resource List, with one request per resource (§10).
    List,
    /// The packages of the Resource Dump (§11).
    Dump,
    /// The Resource List, with resources in batches.
    Batch,
    /// The Change Lists from the checkpoint on (§12).
    Changes,
    /// The Change Dumps from the checkpoint on (§13).
    ChangeDump,
}

impl Strategy {
    /// Returns its name, in lower case with hyphens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::List => "list",
            Self::Dump => "dump",
            Self::Batch => "batch",
            Self::Changes => "changes",
            Self::ChangeDump => "change-dump",
        }
    }
}

impl Strategy {
    const ALL: [Self; 6] =
        [Self::Nothing, Self::List, Self::Dump, Self::Batch, Self::Changes, Self::ChangeDump];

    /// Returns the way named by [`Self::as_str`]; `None` for other texts.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.as_str() == name)
    }

    /// Returns the documents that it reads, as a part of a sentence; `None` if nothing is read.
    pub(crate) fn documents(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::List => Some("the Resource List"),
            Self::Dump => Some("the Resource Dump"),
            Self::Batch => Some("batches"),
            Self::Changes => Some("the Change Lists"),
            Self::ChangeDump => Some("the Change Dumps"),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The knowledge on which the choice of a strategy depends.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub(crate) struct Situation {
    /// The operator's choice.
    pub via: Via,
    /// `true` if the copy holds resources of this Source.
    pub holds: bool,
    /// The time up to which the copy has the Source's changes.
    pub checkpoint: Option<DateTime>,
    /// `true` if changes alone cannot make the copy that is wanted, as with another selection, deletions or a repair.
    pub anew: bool,
    /// The reach of the Change Lists relative to the checkpoint; `None` if the Source has none.
    pub changes: Option<Reach>,
    /// The reach of the Change Dumps, if the Change Lists do not reach back.
    pub change_dumps: Option<Reach>,
    /// `true` if there is a Change List or a Change Dump at all.
    pub offers_changes: bool,
    /// `true` if there is a Resource List.
    pub list: bool,
    /// `true` if there is a Resource Dump.
    pub dump: bool,
    /// `true` if the Source makes packages on request.
    pub batch: bool,
    /// The number of resources to fetch, if it is known.
    pub resources: Option<u64>,
    /// The number of their bytes, if it is known.
    pub bytes: Option<u64>,
    /// The usual duration of recent requests.
    pub latency: Duration,
    /// The number of transfers at a time.
    pub transfers: usize,
}

/// A way, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Choice {
    /// The way.
    pub strategy: Strategy,
    /// The reason for it, in a sentence.
    pub reason: String,
}

impl Choice {
    fn new(strategy: Strategy, reason: impl Into<String>) -> Self {
        Self { strategy, reason: reason.into() }
    }
}

/// Chooses the way: changes if they reach back to the checkpoint, otherwise the cheapest baseline.
///
/// # Errors
/// [`Error::Usage`] if the operator wants a way that the Source does not offer, or that a gap forbids.
pub(crate) fn choose(situation: &Situation) -> Result<Choice, Error> {
    let usage = |what: &str| Err(Error::Usage { what: what.to_owned() });
    match situation.via {
        Via::Changes => incremental(situation).or_else(|reason| match all_changes(situation, &reason) {
            Some(choice) => Ok(choice),
            None => usage(&format!("Changes alone cannot bring the copy in step: {reason}")),
        }),
        Via::List if situation.list => Ok(Choice::new(Strategy::List, "the Resource List was requested")),
        Via::List => usage("The Source offers no Resource List"),
        Via::Dump if situation.dump => Ok(Choice::new(Strategy::Dump, "the Resource Dump was requested")),
        Via::Dump => usage("The Source offers no Resource Dump"),
        Via::Batch if situation.batch => Ok(Choice::new(Strategy::Batch, "batches were requested")),
        Via::Batch => usage("The Source offers no batches"),
        Via::Cheapest => incremental(situation).or_else(|reason| baseline(situation, &reason)),
    }
}

/// Chooses changes to update the copy. The error is the reason why changes are not enough.
fn incremental(situation: &Situation) -> Result<Choice, String> {
    if !situation.holds {
        return Err("the first copy".to_owned());
    }
    if situation.anew {
        return Err("the complete copy is compared".to_owned());
    }
    let Some(checkpoint) = &situation.checkpoint else {
        return Err("no time is known up to which the copy is in step".to_owned());
    };
    let reaching =
        |strategy, what: &str| Ok(Choice::new(strategy, format!("the {what} reach back to {checkpoint}")));
    let gap = |what: &str, earliest: DateTime| {
        Err(format!("a gap: the copy is of {checkpoint}, the {what} begin at {earliest}"))
    };
    match (situation.changes, situation.change_dumps) {
        // Change Lists come first: a dump includes the bytes of states that later changes replace.
        (Some(Reach::Covered), _) => reaching(Strategy::Changes, "Change Lists"),
        (_, Some(Reach::Covered)) => reaching(Strategy::ChangeDump, "Change Dumps"),
        (Some(Reach::Gap { earliest }), _) => gap("Change Lists", earliest),
        (_, Some(Reach::Gap { earliest })) => gap("Change Dumps", earliest),
        (Some(Reach::Unknown), _) => Err("the Change Lists do not say when they begin".to_owned()),
        (None, Some(Reach::Unknown)) => Err("the Change Dumps do not say when they begin".to_owned()),
        (None, None) => Err("the Source offers no Change List".to_owned()),
    }
}

/// Chooses to apply all changes, if the Source has changes and no inventory.
fn all_changes(situation: &Situation, reason: &str) -> Option<Choice> {
    let Situation { list, dump, offers_changes, .. } = *situation;
    (offers_changes && !list && !dump).then(|| {
        let why = "the Source offers no inventory, so the copy has only resources that its changes name";
        Choice::new(Strategy::Changes, format!("{reason}; {why}"))
    })
}

/// Chooses the cheapest way to fetch all resources of a baseline.
///
/// # Errors
/// [`Error::Usage`] if there is none.
pub(crate) fn baseline(situation: &Situation, reason: &str) -> Result<Choice, Error> {
    let Situation { list, dump, batch, holds, .. } = *situation;
    // The manifests of the dump are then the only inventory, so its costs are not compared with those of other ways.
    if !list && dump {
        return Ok(Choice::new(Strategy::Dump, format!("{reason}; the Source offers no Resource List")));
    }
    if let Some(choice) = all_changes(situation, reason) {
        return Ok(choice);
    }
    if !list {
        let what = format!(
            "{reason}, and the Source offers neither a Resource List nor a Resource Dump to start from"
        );
        return Err(Error::Usage { what });
    }
    // At equal cost single requests are chosen, because they need no space for a package beside the copy.
    let mut best = (Cost::one_by_one(situation), Choice::new(Strategy::List, reason));
    // A dump has all resources: if some are held, most of it would be useless.
    for (offered, cost, strategy, why) in [
        (dump && !holds, Cost::packed(situation), Strategy::Dump, "the Resource Dump saves requests"),
        (batch, Cost::batched(situation), Strategy::Batch, "batches save requests"),
    ] {
        if offered && cost < best.0 {
            best = (cost, Choice::new(strategy, format!("{reason}; {why}")));
        }
    }
    Ok(best.1)
}

/// Chooses the carrier for known changes: requests, batches, or packages of a Change Dump, if it is known
/// how many packages and bytes these are.
pub(crate) fn carrier_of_changes(situation: &Situation, packages: Option<(u64, u64)>) -> Strategy {
    let mut best = (Cost::one_by_one(situation), Strategy::Changes);
    let batched = situation.batch.then(|| Cost::batched(situation));
    let packed = packages.map(|(count, bytes)| Cost::packages(situation, count, bytes));
    for (cost, strategy) in [(batched, Strategy::Batch), (packed, Strategy::ChangeDump)] {
        if let Some(cost) = cost.filter(|cost| *cost < best.0) {
            best = (cost, strategy);
        }
    }
    best.1
}

/// Returns `true` if looking for packages may save time: a look costs two requests and a package.
pub(crate) fn could_pay(situation: &Situation) -> bool {
    Cost::packages(situation, 1, situation.bytes.unwrap_or(0)) < Cost::one_by_one(situation)
}

/// An estimate of time.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Cost(f64);

impl Cost {
    /// The cost of a request to both sides beside its round trip, in seconds.
    const REQUEST_SECONDS: f64 = 0.000_2;
    /// The cost of a package before its first byte, in seconds.
    const PACKAGE_SECONDS: f64 = 0.05;
    const BATCH_RESOURCES: f64 = 10_000.0;
    /// The assumed number of bytes a second. It makes the unwanted parts of a package count.
    const BYTES_PER_SECOND: f64 = 50e6;

    fn one_by_one(situation: &Situation) -> Self {
        let resources = situation.resources.unwrap_or(0) as f64;
        let transfers = situation.transfers.max(1) as f64;
        let each = situation.latency.as_secs_f64() / transfers + Self::REQUEST_SECONDS;
        Self(resources * each + Self::seconds_for(situation.bytes))
    }

    fn batched(situation: &Situation) -> Self {
        let batches = (situation.resources.unwrap_or(0) as f64 / Self::BATCH_RESOURCES).ceil();
        let each = situation.latency.as_secs_f64() + 2.0 * Self::PACKAGE_SECONDS;
        Self(batches * each + Self::seconds_for(situation.bytes))
    }

    fn packed(situation: &Situation) -> Self {
        let latency = situation.latency.as_secs_f64() * 3.0;
        Self(latency + Self::PACKAGE_SECONDS + Self::seconds_for(situation.bytes))
    }

    fn packages(situation: &Situation, count: u64, bytes: u64) -> Self {
        let each = situation.latency.as_secs_f64() * 2.0 + Self::PACKAGE_SECONDS;
        Self(count as f64 * each + Self::seconds_for(Some(bytes)))
    }

    fn seconds_for(bytes: Option<u64>) -> f64 {
        bytes.unwrap_or(0) as f64 / Self::BYTES_PER_SECOND
    }
}

#[cfg(test)]
mod tests;
