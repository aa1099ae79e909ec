//! The fields of a change of a copy, the same in JSON lines and in webhooks.

use instep_destination::CopyChange;
use serde_json::json;

/// Returns the fields of a change.
pub(super) fn fields(change: &CopyChange) -> serde_json::Value {
    json!({
        "sequence": change.sequence,
        "change": change.change.as_str(),
        "uri": change.uri,
        "path": change.path,
        "bytes": change.length,
        "hash": change.digests.to_string(),
        "lastmod": change.lastmod.map(|time| time.to_string()),
        "datetime": change.datetime.map(|time| time.to_string()),
    })
}
