//! What is said about the Source on pages, in `/status` and in `/metrics`: made after each publication, so that
//! nobody who looks costs a query.

use resourcesync::{Change, DateTime, Uri};
use serde::{Serialize, Serializer};

use crate::catalogue::ChangeRecord;

/// The Source after its last publication.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Overview {
    /// The base URL.
    pub base_url: String,
    /// The sets of resources.
    pub sets: Vec<SetOverview>,
    /// The last changes, the newest first.
    pub changes: Vec<RecentChange>,
    /// How many changes there were in each of the last 48 hours, the one that runs last.
    pub hours: Vec<u64>,
    /// When the last publication ended; none before the first one.
    #[serde(serialize_with = "as_text")]
    pub published: Option<DateTime>,
    /// Publications since the start.
    pub publications: u64,
    /// Why the last publication failed; none when it did not.
    pub failure: Option<String>,
}

/// A set of resources.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct SetOverview {
    /// Its name; empty where it is the only one.
    pub name: String,
    /// Its Capability List.
    #[serde(serialize_with = "as_text")]
    pub capability_list: Option<Uri>,
    /// Resources in it.
    pub resources: u64,
    /// Bytes of these resources.
    pub bytes: u64,
}

/// A change that happened lately.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RecentChange {
    /// The resource.
    #[serde(serialize_with = "to_text")]
    pub uri: Uri,
    /// What happened.
    #[serde(serialize_with = "to_text")]
    pub change: Change,
    /// When.
    #[serde(serialize_with = "to_text")]
    pub datetime: DateTime,
}

impl From<ChangeRecord> for RecentChange {
    fn from(record: ChangeRecord) -> Self {
        Self { uri: record.uri, change: record.change, datetime: record.datetime }
    }
}

impl Overview {
    /// Whether documents are complete and current.
    pub fn is_ready(&self) -> bool {
        self.published.is_some() && self.failure.is_none()
    }

    pub(crate) fn readiness(&self) -> &'static str {
        match (self.published, &self.failure) {
            (None, _) => "not published yet\n",
            (Some(_), Some(_)) => "the last publication failed; see /status\n",
            (Some(_), None) => "ready\n",
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Resources in all sets.
    pub fn resources(&self) -> u64 {
        self.sets.iter().map(|set| set.resources).sum()
    }

    /// Bytes in all sets.
    pub fn bytes(&self) -> u64 {
        self.sets.iter().map(|set| set.bytes).sum()
    }
}

fn to_text<S: Serializer>(value: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

fn as_text<S: Serializer>(value: &Option<impl ToString>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(ToString::to_string).serialize(serializer)
}
