//! Events that a Destination reports while it works.

mod recorded;

use std::{fmt, time::Duration};

use instep_net::{InFlight, Permission, Traffic};
use resourcesync::Uri;

pub use recorded::{RecordedEvents, TestMonitor};

/// Receives the events of a run, and cannot influence it.
///
/// # Contract
/// `event` is called from several threads. Items that were committed arrive in the order of their commits. A call must
/// return soon, because the run waits for it.
///
/// ```
/// use instep_destination::{Event, Monitor};
///
/// struct Problems;
///
/// impl Monitor for Problems {
///     fn event(&self, event: Event<'_>) {
///         if let Event::Problem(problem) = event {
///             eprintln!("{}: {}", problem.uri, problem.what);
///         }
///     }
/// }
/// ```
pub trait Monitor: Send + Sync {
    /// Receives one event.
    fn event(&self, event: Event<'_>);
}

/// An event of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The work enters a phase.
    Phase(Phase),
    /// A sentence the operator should read: the way chosen and why, a gap, a fallback.
    Note(&'a str),
    /// The plan is complete.
    Planned(PlanTotals),
    /// One action of the plan in a dry run, or one difference in an audit.
    Itemized(Item<'a>),
    /// The action on a resource is committed: the file and the state both have the result.
    Committed(Item<'a>),
    /// The links of a held resource changed at the Source, and its bytes are current. The state has the new links when
    /// the round ends.
    Noted {
        /// Its URI.
        uri: &'a str,
        /// Its path in the copy.
        path: &'a str,
    },
    /// Bytes of resources arrived.
    Progress {
        /// The number of bytes since the last such event.
        bytes: u64,
    },
    /// The topics with a subscription at a hub, each with the remaining time of its lease (CN-14). It comes at the end
    /// of each round of following.
    Leases(&'a [(Uri, Duration)]),
    /// The requests to a host since the last such event about it.
    Traffic {
        /// Scheme, host and port.
        host: &'a str,
        /// The counts of those requests and their results.
        traffic: &'a Traffic,
    },
    /// Requests whose answers are arriving, and hosts that are paused. It comes about once a second (P6).
    UnderWay {
        /// The requests, the oldest first.
        requests: &'a [InFlight],
        /// The hosts, each with the time that is left.
        waiting: &'a [(String, Duration)],
    },
    /// A run ended; while following, each round is one.
    Ended {
        /// The exit code of this run, or of this round alone.
        exit_code: u8,
    },
    /// A problem occurred; the work continues.
    Problem(Problem<'a>),
    /// A document deviates from the standard, and was read without losing anything.
    Warning(Problem<'a>),
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Phase {
    /// Looking for the Source's capabilities.
    Discovering,
    /// Reading lists.
    Reading,
    /// Transferring resources.
    Fetching,
    /// Removing resources that the Source no longer has.
    Deleting,
    /// Hashing held files.
    Hashing,
    /// Waiting for the next change.
    Waiting,
}

impl Phase {
    /// Returns its name, in lower case with hyphens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discovering => "discovering",
            Self::Reading => "reading",
            Self::Fetching => "fetching",
            Self::Deleting => "deleting",
            Self::Hashing => "hashing",
            Self::Waiting => "waiting",
        }
    }
}

/// The number of actions in a plan, and the bytes that they will transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanTotals {
    /// Resources to fetch.
    pub fetches: u64,
    /// Resources to remove.
    pub deletions: u64,
    /// Resources that are current.
    pub unchanged: u64,
    /// Bytes to fetch, as far as the lists state lengths.
    pub bytes: u64,
}

impl PlanTotals {
    /// Returns the totals of an empty plan.
    pub fn new() -> Self {
        Self::default()
    }
}

/// One resource and the action on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item<'a> {
    /// The kind of action.
    pub letter: Letter,
    /// Its URI.
    pub uri: &'a str,
    /// Its size in bytes, if it is known.
    pub bytes: Option<u64>,
    /// The path in the copy, for an item that was committed; of a deletion, the former path.
    pub path: Option<&'a str>,
    /// The reason, if the letter does not say it: `length 5 instead of 7`.
    pub detail: Option<&'a str>,
}

impl<'a> Item<'a> {
    /// Returns an item without a path and a detail.
    pub fn new(letter: Letter, uri: &'a str, bytes: Option<u64>) -> Self {
        Self { letter, uri, bytes, path: None, detail: None }
    }
}

/// The kinds of actions and differences, each with the letter that a plan, a report or an audit shows for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Letter {
    /// `+`: new, or missing in the copy.
    New,
    /// `~`: changed, or different from the Source.
    Changed,
    /// `-`: gone at the Source, or only in the copy.
    Gone,
    /// `=`: equal to the Source.
    Same,
    /// `!`: it could not be fetched or compared.
    Failed,
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "+",
            Self::Changed => "~",
            Self::Gone => "-",
            Self::Same => "=",
            Self::Failed => "!",
        })
    }
}

/// A problem: the subject, the fault and the remedy.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Problem<'a> {
    /// Its kind.
    pub kind: ProblemKind,
    /// The resource or document.
    pub uri: &'a str,
    /// The fault.
    pub what: &'a dyn fmt::Display,
    /// The remedy, if one is known.
    pub hint: Option<&'a str>,
    /// The permission that would help; `None` if none would.
    pub lacks: Option<Permission>,
}

impl<'a> Problem<'a> {
    /// Returns a problem without a hint.
    pub fn new(kind: ProblemKind, uri: &'a str, what: &'a dyn fmt::Display) -> Self {
        Self { kind, uri, what, hint: None, lacks: None }
    }

    /// Sets the permission that would help.
    #[must_use]
    pub fn lacking(self, lacks: Option<Permission>) -> Self {
        Self { lacks, ..self }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn hint(self, hint: &'a str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl fmt::Debug for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind.as_str(), self.uri, self.what)
    }
}

/// Kinds of problems. `status` counts problems by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The length or a digest differs from the entry. A held version stays.
    Mismatch,
    /// The Source does not have the resource that it lists (status 404 or 410).
    Missing,
    /// The Source refuses the request (status 401 or 403).
    Denied,
    /// The resource does not arrive: the connection fails, the server fails (status 5xx), or the transfer stalls.
    Unreachable,
    /// The URI is outside the scope of its document, so nothing was requested.
    OutOfScope,
    /// An entry of a document cannot be used. The other entries are applied.
    Entry,
    /// A document cannot be read or used. Other documents are used.
    Document,
    /// The resource has no safe place in the copy, or the place cannot be written.
    Storage,
}

impl ProblemKind {
    /// Returns its name, in lower case with hyphens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::Missing => "missing",
            Self::Denied => "denied",
            Self::Unreachable => "unreachable",
            Self::OutOfScope => "out-of-scope",
            Self::Entry => "entry",
            Self::Document => "document",
            Self::Storage => "storage",
        }
    }

    /// Returns the kind with a name from [`Self::as_str`]; `None` if there is no such kind.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Mismatch,
            Self::Missing,
            Self::Denied,
            Self::Unreachable,
            Self::OutOfScope,
            Self::Entry,
            Self::Document,
            Self::Storage,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == text)
    }
}

/// A monitor that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct VoidMonitor;

impl Monitor for VoidMonitor {
    fn event(&self, _: Event<'_>) {}
}
