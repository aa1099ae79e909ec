//! A run's access to the Source: one client, and the documents, resources and packages that are fetched with it.

use std::time::Duration;

use instep_net::{Client, Origin, Validators};
use resourcesync::Uri;

use crate::{
    Error,
    documents::{Document, Documents, Fetched},
    state::DocumentRecord,
    transfer::fetch::Fetcher,
    transfer::package::Packages,
};

/// The network as a run uses it.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) client: Client,
    pub(crate) documents: Documents,
    pub(crate) fetcher: Fetcher,
    /// The mean time of a request while the Source was discovered.
    pub(crate) latency: Duration,
}

impl Network {
    /// Returns the fetcher of packages.
    pub(crate) fn packages(&self) -> Packages {
        Packages::new(self.fetcher.clone(), self.documents.clone())
    }

    /// Fetches a document. `None` if it is unchanged since the record.
    pub(crate) async fn open(
        &self,
        uri: &Uri,
        speaker: Option<&Uri>,
        record: Option<&DocumentRecord>,
    ) -> Result<Option<Document>, Error> {
        let speaker = speaker.and_then(|speaker| Origin::parse(speaker.as_str()).ok());
        let held =
            record.map(|record| Validators::new(record.etag.as_deref(), record.last_modified.as_deref()));
        match self.documents.fetch(uri, speaker.as_ref(), held.as_ref()).await? {
            Fetched::Unchanged => Ok(None),
            Fetched::Arrived(download) => Ok(Some(download.document()?)),
        }
    }
}

/// Returns the record of a document, to be written when its plan is done.
pub(crate) fn record_of(uri: &Uri, document: &Document) -> DocumentRecord {
    let mut record = DocumentRecord::new(uri.clone());
    record.etag.clone_from(&document.validators.etag);
    record.last_modified.clone_from(&document.validators.last_modified);
    record
}
