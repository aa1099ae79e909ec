//! The effort of reading one response, which its author must not be able to raise without bound: memory that its records
//! take, and bytes that are read again after damage. PURE.

use super::parts::{NotOai, OaiResponse};

/// The most parts of a response, such as records. Each takes some hundred bytes of memory, and a few bytes on the way.
const MOST_PARTS: usize = 1_000_000;
/// The most bytes of the documents that its records become. Each has the declarations of namespaces that it needs, which
/// the response has once.
const MOST_BYTES: usize = 1 << 30;
/// The number of times that a response may be read again because of damage, on the average of its bytes.
const TIMES: usize = 4;
/// The bytes that may be read again in a response of any length.
const FIRST_BYTES: usize = 16 << 20;

/// The effort so far.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadingEffort {
    /// The records whose documents are counted.
    records: usize,
    bytes: usize,
    read_again: usize,
}

impl ReadingEffort {
    /// Counts the records that were added since the last call.
    ///
    /// # Errors
    /// If the parts of the response are too many, or its documents too large.
    pub(super) fn count(&mut self, response: &OaiResponse) -> Result<(), NotOai> {
        let added = response.records.get(self.records..).unwrap_or_default();
        let documents = added.iter().flat_map(|record| [&record.metadata, &record.about]).flatten();
        self.bytes += documents.map(Vec::len).sum::<usize>();
        self.records = response.records.len();
        let parts = self.records + response.faults.len() + response.errors.len() + response.formats.len();
        if parts > MOST_PARTS {
            return Err(NotOai(format!("the response has more than {MOST_PARTS} records")));
        }
        if self.bytes > MOST_BYTES {
            let what =
                "the records of the response take more than 1 GiB with their declarations of namespaces";
            return Err(NotOai(what.to_owned()));
        }
        Ok(())
    }

    /// Adds bytes that will be read again; returns `false` if they are too many for a response of this length.
    pub(super) fn allows_again(&mut self, bytes: usize, length: usize) -> bool {
        self.read_again = self.read_again.saturating_add(bytes);
        self.read_again <= length.saturating_mul(TIMES).saturating_add(FIRST_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::OaiRecord;

    #[test]
    fn d46_o881_a_response_whose_parts_do_not_fit_into_memory_is_refused() {
        let parts =
            |number: usize| OaiResponse { formats: vec![String::new(); number], ..OaiResponse::default() };
        assert!(ReadingEffort::default().count(&parts(MOST_PARTS)).is_ok());
        let refused = ReadingEffort::default().count(&parts(MOST_PARTS + 1)).unwrap_err();
        assert!(refused.to_string().contains("more than 1000000 records"), "{refused}");
        let record = OaiRecord { metadata: Some(vec![0; 1 << 20]), ..OaiRecord::default() };
        let response = OaiResponse { records: vec![record], ..OaiResponse::default() };
        let mut effort = ReadingEffort::default();
        for number in 1..=1_025 {
            effort.records = 0;
            assert_eq!(effort.count(&response).is_ok(), number <= 1_024, "{number}");
        }
    }
}
