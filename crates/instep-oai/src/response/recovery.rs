//! The way on after damage: the next record, and the damaged one in a repaired form.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::{
    effort::ReadingEffort,
    parts::{NotOai, OaiResponse, RecordFault},
    repair::repaired,
    tags::{element_name, identifier_in, reader},
    walk::ResponseReader,
};

impl ResponseReader<'_> {
    /// Reads a damaged record again with its usual faults repaired, and keeps it or the fault.
    pub(super) fn repair(&mut self, at: Range<usize>, what: String) {
        let damaged = &self.text[at];
        let text = repaired(damaged);
        let mut again = ResponseReader {
            text: &text,
            base: 0,
            reader: reader(&text),
            scope: self.scope.clone(),
            has_root: true,
            response: OaiResponse::default(),
            effort: ReadingEffort::default(),
        };
        let found = again.part();
        match (found, again.response.records.pop()) {
            (Ok(true), Some(record)) => {
                let what = format!("{what}; the characters in question were replaced");
                self.response.faults.push(RecordFault {
                    record: record.identifier.clone(),
                    identifier: Some(record.identifier.clone()),
                    what,
                    is_lost: false,
                });
                self.response.records.push(record);
            }
            _ => {
                let identifier = identifier_in(damaged);
                let position = || format!("record {}", self.response.records.len() + 1);
                let record = identifier.clone().unwrap_or_else(position);
                let what = format!("cannot be read: {what}");
                self.response.faults.push(RecordFault { record, identifier, what, is_lost: true });
            }
        }
    }

    /// Returns the offset of the next record, header or token at or after an offset.
    pub(super) fn next_part(&self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let after = bytes.get(from..)?;
        memchr_iter(b'<', after).map(|at| from + at).find(|at| {
            let rest = &self.text[at + 1..];
            match element_name(rest) {
                "resumptionToken" => true,
                "record" => content(rest).is_some_and(|inside| {
                    inside
                        .trim_start()
                        .strip_prefix('<')
                        .is_some_and(|inside| element_name(inside) == "header")
                }),
                // In a list of identifiers there is nothing around a header.
                "header" => self.is_header_alone(*at),
                _ => false,
            }
        })
    }

    fn is_header_alone(&self, at: usize) -> bool {
        let before = self.text[..at].trim_end();
        let tag = before.rsplit_once('<').map_or("", |(_, tag)| tag);
        element_name(tag) != "record"
    }

    pub(super) fn not_oai(&self) -> NotOai {
        let start = self.text.trim_start().get(..512).unwrap_or(self.text.trim_start()).to_ascii_lowercase();
        NotOai(match start {
            _ if start.is_empty() => "the response is empty".to_owned(),
            _ if start.contains("<html") || start.contains("<!doctype html") => {
                "the response is a web page, not OAI-PMH".to_owned()
            }
            _ => "the response is not OAI-PMH".to_owned(),
        })
    }
}

/// Returns the text behind a tag whose `<` was already read; `None` if the tag does not end soon. A damaged response may
/// have any number of tags without an end, and each would be looked for up to its last byte.
fn content(tag: &str) -> Option<&str> {
    const LONGEST_TAG: usize = 4 << 10;
    let start = &tag.as_bytes()[..tag.len().min(LONGEST_TAG)];
    memchr(b'>', start).map(|end| &tag[end + 1..])
}
