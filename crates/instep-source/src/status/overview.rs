//! The overview of the Source that pages, `/status` and `/metrics` show. It is made after each publication, so that a
//! request costs no query.

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
    /// The number of changes in each of the last 48 hours; the current hour is the last.
    pub hours: Vec<u64>,
    /// The time at which the last publication ended; `None` before the first one.
    #[serde(serialize_with = "as_text")]
    pub published: Option<DateTime>,
    /// Publications since the start.
    pub publications: u64,
    /// The number of folders that cannot be watched, so that their changes are found by scans.
    pub unwatched_folders: usize,
    /// The reason why the last publication failed; `None` if it succeeded.
    pub failure: Option<String>,
}

/// A set of resources.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct SetOverview {
    /// Its name; empty if it is the only one.
    pub name: String,
    /// Its Capability List.
    #[serde(serialize_with = "as_text")]
    pub capability_list: Option<Uri>,
    /// Resources in it.
    pub resources: u64,
    /// Bytes of these resources.
    pub bytes: u64,
}

/// A recent change.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RecentChange {
    /// The resource.
    #[serde(serialize_with = "to_text")]
    pub uri: Uri,
    /// The kind of change.
    #[serde(serialize_with = "to_text")]
    pub change: Change,
    /// The time of the change.
    #[serde(serialize_with = "to_text")]
    pub datetime: DateTime,
}

impl From<ChangeRecord> for RecentChange {
    fn from(record: ChangeRecord) -> Self {
        Self { uri: record.uri, change: record.change, datetime: record.datetime }
    }
}

impl Overview {
    /// Returns `true` if the documents are complete and current.
    pub fn is_ready(&self) -> bool {
        self.published.is_some() && self.failure.is_none()
    }

    pub(crate) fn readiness(&self) -> String {
        let readiness = match (self.published, &self.failure) {
            (None, _) => "not published yet\n",
            (Some(_), Some(_)) => "the last publication failed; see /status\n",
            (Some(_), None) => "ready\n",
        };
        match self.unwatched_folders {
            0 => readiness.to_owned(),
            folders => {
                format!("{readiness}folders that are scanned because they cannot be watched: {folders}\n")
            }
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the number of resources in all sets.
    pub fn resources(&self) -> u64 {
        self.sets.iter().map(|set| set.resources).sum()
    }

    /// Returns the bytes of the resources in all sets.
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
