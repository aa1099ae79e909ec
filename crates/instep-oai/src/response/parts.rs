//! The parts of a response.

/// An error that the repository reports (OAI-PMH §3.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolError {
    /// Its code, such as `noRecordsMatch`.
    pub(crate) code: String,
    /// The text, for people.
    pub(crate) message: String,
}

/// A text that is no response of a repository at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotOai(pub(crate) String);

/// A response, with everything in it that could be read.
#[derive(Debug, Default)]
pub(crate) struct OaiResponse {
    /// The clock of the repository, as it was written.
    pub(crate) date: String,
    pub(crate) errors: Vec<ProtocolError>,
    /// The fields of `Identify`, by their names, in their order.
    pub(crate) identity: Vec<(String, String)>,
    pub(crate) records: Vec<OaiRecord>,
    /// `true` if it has a list, which may be empty.
    pub(crate) has_list: bool,
    /// The token of the next part; `None` if there is none or it is empty.
    pub(crate) token: Option<String>,
    /// `true` if it says that the list ends here, with an empty token.
    pub(crate) has_end: bool,
    /// The number of records that the repository states for the whole list.
    pub(crate) list_size: Option<u64>,
    /// The prefixes of `ListMetadataFormats`.
    pub(crate) formats: Vec<String>,
    /// Records that were left out or repaired.
    pub(crate) faults: Vec<RecordFault>,
    /// `false` if the response is truncated, or damaged after its records, so that a token may be missing.
    pub(crate) is_whole: bool,
}

impl OaiResponse {
    /// Returns the text of a field of `Identify`; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        let found = self.identity.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, text)| text.as_str())
    }
}

/// A record of a list, or its header alone.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OaiRecord {
    pub(crate) identifier: String,
    /// The datestamp as it was written.
    pub(crate) datestamp: String,
    pub(crate) is_deleted: bool,
    pub(crate) sets: Vec<String>,
    /// The metadata as a separate document; `None` if there is none.
    pub(crate) metadata: Option<Vec<u8>>,
    /// The `about` containers as one document; `None` if there are none.
    pub(crate) about: Option<Vec<u8>>,
}

/// Something wrong with one record of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordFault {
    /// The identifier, or the position in the response.
    pub(crate) record: String,
    /// The identifier, if it could be read.
    pub(crate) identifier: Option<String>,
    /// A sentence that describes the fault.
    pub(crate) what: String,
    /// `true` if the record is left out; `false` if it was repaired.
    pub(crate) is_lost: bool,
}
