//! The content and the behaviour of a fake repository.

use std::collections::VecDeque;

/// A record of a [`super::FakeRepository`], in each of its formats.
#[derive(Clone, Debug, Default)]
pub struct FakeRecord {
    /// Its identifier.
    pub identifier: String,
    /// Its datestamp, as it is written; lists are in the order of the records, not of these.
    pub datestamp: String,
    /// `true` if it is listed as deleted.
    pub is_deleted: bool,
    /// Its sets.
    pub sets: Vec<String>,
    /// The content of `metadata`.
    pub metadata: String,
    /// The content of `about`; none if empty.
    pub about: String,
}

impl FakeRecord {
    /// Returns a record in Dublin Core, with a title and an identifier.
    pub fn new(identifier: &str, datestamp: &str, title: &str) -> Self {
        let metadata = format!(
            "<oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" \
             xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>{title}</dc:title></oai_dc:dc>"
        );
        Self {
            identifier: identifier.to_owned(),
            datestamp: datestamp.to_owned(),
            metadata,
            ..Self::default()
        }
    }
}

/// A fault of one answer.
#[derive(Clone, Debug)]
pub enum RepositoryFault {
    /// This status, with this header and a page.
    Status(u16, &'static str),
    /// Another body.
    Body(String),
    /// Each occurrence of a text in the right answer is replaced by another text.
    Replace(String, String),
    /// The right answer ends after this text.
    EndAfter(String),
    /// An error of the protocol.
    Error(&'static str),
    /// Nothing; the connection is closed.
    Close,
}

/// The content and the behaviour of a [`super::FakeRepository`].
#[derive(Clone, Debug)]
pub struct RepositoryLayout {
    /// The records, in the order of lists.
    pub records: Vec<FakeRecord>,
    /// The formats; each record has its metadata in all of them.
    pub formats: Vec<String>,
    /// Records in one response.
    pub part: usize,
    /// The text of `granularity`; datestamps in requests are compared as texts of its length.
    pub granularity: String,
    /// The text of `deletedRecord`.
    pub deleted_record: String,
    /// The clock.
    pub now: String,
    /// `true` if answers are compressed for clients that accept that, and files for all.
    pub gzip: bool,
    /// Files beside the repository: path and media type and bytes.
    pub files: Vec<(String, String, String)>,
}

impl Default for RepositoryLayout {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            formats: vec!["oai_dc".to_owned()],
            part: 10,
            granularity: "YYYY-MM-DDThh:mm:ssZ".to_owned(),
            deleted_record: "persistent".to_owned(),
            now: "2026-02-01T00:00:00Z".to_owned(),
            gzip: false,
            files: Vec::new(),
        }
    }
}

/// The state of a fake repository.
#[derive(Default)]
pub(super) struct RepositoryState {
    pub(super) layout: RepositoryLayout,
    /// The part of a query without escapes, and the faults of the next answers to such requests.
    pub(super) faults: Vec<(String, VecDeque<RepositoryFault>)>,
    pub(super) log: Vec<String>,
    /// Tokens that were issued before this many expiries are no longer valid.
    pub(super) expiries: u32,
    pub(super) has_ended: bool,
}

impl RepositoryLayout {
    /// Returns the record with an identifier, to be changed.
    ///
    /// # Panics
    /// If there is none.
    pub fn record(&mut self, identifier: &str) -> &mut FakeRecord {
        let found = self.records.iter_mut().find(|record| record.identifier == identifier);
        found.expect("a record with this identifier")
    }
}
