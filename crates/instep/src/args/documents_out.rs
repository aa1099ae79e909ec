//! The value of `--out`: the place of the documents of a Source, in a folder or in object storage.

use std::path::{Path, PathBuf};

use anyhow::bail;
use instep_source::ObjectPlace;

use super::values;

/// The folder in the state for documents that are delivered to object storage.
const DELIVERED_DOCUMENTS: &str = "documents";

/// The place of the documents.
#[derive(Clone, Debug)]
pub(super) enum DocumentsOut {
    /// The documents are written to this folder.
    Folder(PathBuf),
    /// The documents are written to a folder of the state and delivered from there.
    Objects(ObjectPlace),
}

impl DocumentsOut {
    /// Parses the value of `--out`.
    ///
    /// Errors: it is a URL, or a place in object storage that cannot be used.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if ObjectPlace::is_meant(text) {
            ObjectPlace::parse(text).map(Self::Objects).map_err(|error| error.to_string())
        } else {
            values::path(text).map(Self::Folder)
        }
    }

    /// Returns the place in object storage; `None` for a folder.
    pub(super) fn objects(&self) -> Option<&ObjectPlace> {
        match self {
            Self::Objects(place) => Some(place),
            Self::Folder(_) => None,
        }
    }
}

/// Returns the folder that documents are written to, and the place in object storage to which they are delivered from
/// there, if one is named. `default` is the folder if no place is named.
///
/// Errors: an endpoint is named, but no place in object storage.
pub(super) fn folder_and_delivery(
    out: Option<DocumentsOut>,
    endpoint_url: Option<String>,
    state: &Path,
    default: PathBuf,
) -> anyhow::Result<(PathBuf, Option<ObjectPlace>)> {
    match (out, endpoint_url) {
        (Some(DocumentsOut::Objects(place)), endpoint_url) => {
            let place = match endpoint_url {
                Some(endpoint_url) => place.at(endpoint_url),
                None => place,
            };
            Ok((state.join(DELIVERED_DOCUMENTS), Some(place)))
        }
        (_, Some(_)) => bail!("--endpoint-url needs --out s3://BUCKET/PREFIX"),
        (Some(DocumentsOut::Folder(folder)), None) => Ok((folder, None)),
        (None, None) => Ok((default, None)),
    }
}
