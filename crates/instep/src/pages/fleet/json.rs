//! A Source of a fleet and its documents as JSON. The API, `instep source list --json` and `show --json` have the same
//! form.

use instep_fleet::{Cadence, FleetSource, SourceSurvey, SurveyedDocument};
use resourcesync::DateTime;
use serde_json::{Value, json};

/// Returns a time as text.
fn text(seconds: Option<i64>) -> Option<String> {
    seconds.map(|seconds| DateTime::from_unix_seconds(seconds).to_string())
}

/// Returns a Source as JSON.
pub(crate) fn source_object(source: &FleetSource, now: i64) -> Value {
    let (definition, standing) = (&source.definition, &source.standing);
    let (every, at) = match &definition.cadence {
        Cadence::Every { seconds } => (Some(*seconds), Vec::new()),
        Cadence::At { minutes } => {
            (None, minutes.iter().map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60)).collect())
        }
        Cadence::Adaptive => (None, Vec::new()),
    };
    json!({
        "name": definition.name,
        "url": definition.url,
        "host": definition.host(),
        "folder": definition.folder(),
        "configured": source.from_file,
        "state": source.state(now).as_str(),
        "running_since": text(source.running),
        "worker": source.worker(),
        "every_seconds": every,
        "at": at,
        "follow": definition.follow,
        "delete": definition.delete,
        "priority": definition.priority,
        "approve": definition.approve,
        "approved": standing.approved,
        "paused": standing.paused,
        "quarantined": standing.quarantined,
        "failures": standing.failures,
        "interval_seconds": standing.interval,
        "due": text(Some(standing.due)),
        "added": text(Some(standing.added)),
        "last_began": text(standing.began),
        "last_ended": text(standing.ended),
        "last_success": text(standing.success),
        "exit_code": standing.exit_code,
        "summary": standing.summary,
        "checkpoint": text(standing.checkpoint),
        "lag_seconds": standing.lag(now),
        "held": standing.held,
        "bytes": standing.bytes,
        "pending": standing.pending,
        "sized_resources": standing.sized.map(|size| size.resources),
        "sized_bytes": standing.sized.map(|size| size.bytes),
    })
}

/// Returns the documents of a Source as JSON.
pub(super) fn survey_object(survey: &SourceSurvey) -> Value {
    let object = |(uri, document): (&String, &SurveyedDocument)| {
        json!({
            "uri": uri,
            "read": text(Some(document.read)),
            "capability": document.capability,
            "index": document.is_index,
            "entries": document.entries,
            "leads_to": document.leads_to.iter().map(|link| &link.uri).collect::<Vec<_>>(),
            "links": document.links,
            "broken": document.broken,
        })
    };
    json!({
        "documents": survey.documents.iter().map(object).collect::<Vec<_>>(), "left_out": survey.left_out,
    })
}
