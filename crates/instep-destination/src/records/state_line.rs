//! The records of a state as lines of JSON, for a file that moves a state to another engine. A later version reads them
//! too.

mod parts;

use resourcesync::Change;
use serde::{Deserialize, Serialize};

use super::operations;
use crate::{
    changes::CopyChange,
    map::CopyPath,
    plan::{Desired, DesiredPresence},
    state::{
        HeldAt, HeldResource, LoggedProblem, LoggedRun, Owed, ReachedPoint, RunId, SetId, StateRecord, codec,
    },
};
use parts::{DocumentLine, MetadataLine, WrittenCheckpoint, WrittenPart, digests, plain, time, times, uri};

/// The version of the lines that this program writes.
pub(crate) const VERSION: u32 = 1;

/// Returns a record as a line, without its end.
///
/// # Errors
/// If it has a value that cannot be written.
pub(crate) fn to_line(record: &StateRecord) -> Result<String, String> {
    let written = RecordLine::of(record)?;
    serde_json::to_string(&written).map_err(|error| error.to_string())
}

/// Reads a record from a line of a version.
///
/// # Errors
/// If it is not one.
pub(crate) fn from_line(version: u32, line: &str) -> Result<StateRecord, String> {
    if version != VERSION {
        return Err(format!("it is of version {version}; this program knows {VERSION}"));
    }
    let written: RecordLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
    written.record()
}

/// A record in its written form. Times are written as in the standard, digests as in a `hash` attribute, and links in
/// the text form of the engines.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum RecordLine {
    Source {
        url: String,
        way: Option<String>,
    },
    Set {
        number: u8,
        name: String,
        source: Option<String>,
        checkpoint: Option<WrittenCheckpoint>,
    },
    Setting {
        name: String,
        value: String,
    },
    Document(DocumentLine),
    Run {
        number: i64,
        started: String,
        ended: Option<String>,
        what: String,
        exit_code: Option<u8>,
        summary: Option<String>,
        source: Option<String>,
    },
    Problem {
        run: i64,
        kind: String,
        count: u64,
        uri: Option<String>,
        message: String,
    },
    Reached {
        at: String,
        reached: String,
    },
    Object {
        key: Box<str>,
        bytes: Option<u64>,
        dead: u64,
    },
    Held {
        uri: String,
        path: String,
        name: Option<String>,
        sets: i64,
        facts: MetadataLine,
        racy: bool,
        part: Option<WrittenPart>,
    },
    Owed {
        set: u8,
        uri: String,
        deleted: bool,
        attempts: u32,
        why: String,
        facts: MetadataLine,
        retrieval: Option<String>,
    },
    Gone {
        set: u8,
        uri: String,
        at: String,
    },
    Change {
        sequence: i64,
        change: String,
        uri: String,
        path: String,
        length: Option<u64>,
        digests: String,
        lastmod: Option<String>,
        datetime: Option<String>,
    },
    Group {
        version: u32,
        operations: Vec<u8>,
    },
}

impl RecordLine {
    fn of(record: &StateRecord) -> Result<Self, String> {
        Ok(match record {
            StateRecord::Source { url, way } => Self::Source { url: url.clone(), way: way.clone() },
            StateRecord::Set { id, name, source, checkpoint } => Self::Set {
                number: id.0,
                name: name.clone(),
                source: source.clone(),
                checkpoint: checkpoint.as_ref().map(WrittenCheckpoint::of),
            },
            StateRecord::Setting { name, value } => {
                Self::Setting { name: name.clone(), value: value.clone() }
            }
            StateRecord::Document(document) => Self::Document(DocumentLine::of(document)),
            StateRecord::Run { run, source } => Self::Run {
                number: run.id.number(),
                started: run.started.to_string(),
                ended: codec::datetime_text(run.finished.as_ref()),
                what: run.what.clone(),
                exit_code: run.exit_code,
                summary: run.summary.as_deref().map(plain),
                source: source.clone(),
            },
            StateRecord::Problem { run, problem } => Self::Problem {
                run: *run,
                kind: problem.kind.clone(),
                count: problem.count,
                uri: problem.uri.as_ref().map(ToString::to_string),
                message: plain(&problem.message),
            },
            StateRecord::Reached(point) => {
                Self::Reached { at: point.at.to_string(), reached: point.reached.to_string() }
            }
            StateRecord::Object { key, bytes, dead } => {
                Self::Object { key: key.clone(), bytes: *bytes, dead: *dead }
            }
            StateRecord::Held { held, name } => Self::Held {
                uri: held.uri.to_string(),
                path: held.path.to_string(),
                name: name.clone(),
                sets: held.sets,
                facts: MetadataLine::of(&held.metadata),
                racy: held.is_racy,
                part: WrittenPart::of(&held.place),
            },
            StateRecord::Owed { set, owed } => {
                let retrieval =
                    owed.desired.retrieval.as_ref().map(|retrieval| retrieval.to_text()).transpose();
                Self::Owed {
                    set: set.0,
                    uri: owed.desired.uri.to_string(),
                    deleted: owed.desired.presence == DesiredPresence::Absent,
                    attempts: owed.desired.attempts,
                    why: plain(&owed.why),
                    facts: MetadataLine::of(&owed.desired.metadata),
                    retrieval: retrieval.map_err(|error| error.to_string())?,
                }
            }
            StateRecord::Gone { set, uri, at } => {
                Self::Gone { set: set.0, uri: uri.to_string(), at: at.to_string() }
            }
            StateRecord::Change(change) => Self::Change {
                sequence: change.sequence,
                change: change.change.as_str().to_owned(),
                uri: change.uri.clone(),
                path: change.path.clone(),
                length: change.length,
                digests: change.digests.to_string(),
                lastmod: codec::datetime_text(change.lastmod.as_ref()),
                datetime: codec::datetime_text(change.datetime.as_ref()),
            },
            StateRecord::Group(group) => Self::Group {
                version: operations::VERSION,
                operations: operations::to_bytes(group).map_err(|error| error.to_string())?,
            },
        })
    }

    fn record(self) -> Result<StateRecord, String> {
        Ok(match self {
            Self::Source { url, way } => StateRecord::Source { url, way },
            Self::Set { number, name, source, checkpoint } => StateRecord::Set {
                id: set(number)?,
                name,
                source,
                checkpoint: checkpoint.map(WrittenCheckpoint::checkpoint).transpose()?,
            },
            Self::Setting { name, value } => StateRecord::Setting { name, value },
            Self::Document(document) => StateRecord::Document(document.record()?),
            Self::Run { number, started, ended, what, exit_code, summary, source } => {
                let mut run = LoggedRun::new(RunId::from_number(number), time(&started)?, &what);
                (run.finished, run.exit_code, run.summary) = (times(ended.as_deref())?, exit_code, summary);
                StateRecord::Run { run, source }
            }
            Self::Problem { run, kind, count, uri: first, message } => {
                let first = first.as_deref().map(uri).transpose()?;
                StateRecord::Problem { run, problem: LoggedProblem::new(&kind, count, first, message) }
            }
            Self::Reached { at, reached } => {
                StateRecord::Reached(ReachedPoint::new(time(&at)?, time(&reached)?))
            }
            Self::Object { key, bytes, dead } => StateRecord::Object { key, bytes, dead },
            Self::Held { uri: of, path, name, sets, facts, racy, part } => StateRecord::Held {
                held: HeldResource {
                    uri: uri(&of)?,
                    path: CopyPath::from_state(&path)
                        .ok_or_else(|| format!("{path:?} is no path of a copy"))?,
                    place: part.map_or(HeldAt::Path, WrittenPart::place),
                    metadata: facts.metadata()?,
                    id: 0,
                    sets,
                    is_racy: racy,
                },
                name,
            },
            Self::Owed { set: of, uri: wanted, deleted, attempts, why, facts, retrieval } => {
                let mut desired = Desired::new(uri(&wanted)?);
                let change = if deleted { Change::Deleted } else { Change::Updated };
                desired.presence = DesiredPresence::after(Some(&change));
                (desired.attempts, desired.metadata) = (attempts, facts.metadata()?);
                let retrieval = desired.set_retrieval_text(retrieval.as_deref());
                retrieval.map_err(|error| error.to_string())?;
                StateRecord::Owed { set: set(of)?, owed: Owed { desired, why } }
            }
            Self::Gone { set: of, uri: gone, at } => {
                StateRecord::Gone { set: set(of)?, uri: uri(&gone)?, at: time(&at)? }
            }
            Self::Change { sequence, change, uri, path, length, digests: of, lastmod, datetime } => {
                StateRecord::Change(CopyChange {
                    sequence,
                    change: Change::parse(&change),
                    uri,
                    path,
                    length,
                    digests: digests(&of)?,
                    lastmod: times(lastmod.as_deref())?,
                    datetime: times(datetime.as_deref())?,
                })
            }
            Self::Group { version, operations } => {
                let group = operations::from_bytes(version, &operations);
                StateRecord::Group(group.map_err(|error| error.to_string())?)
            }
        })
    }
}

fn set(number: u8) -> Result<SetId, String> {
    if number < SetId::MOST {
        Ok(SetId(number))
    } else {
        Err(format!("a copy has at most {} sets, none has the number {number}", SetId::MOST))
    }
}
