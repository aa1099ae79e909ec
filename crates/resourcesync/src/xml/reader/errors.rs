//! Findings and errors, with the position that the reader is at.

use std::{io::BufRead, sync::atomic::Ordering::Relaxed};

use quick_xml::errors::IllFormedError;

use super::{DocumentReader, Next, push};
use crate::{
    error::{ReadError, SyntaxError, SyntaxErrorKind},
    finding::{Finding, Severity},
    xml::window::Stop,
};

impl<R: BufRead> DocumentReader<R> {
    pub(super) fn report(
        &mut self,
        rule: &'static str,
        severity: Severity,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let finding = Finding::new(rule, severity, self.at, found, expected);
        push(&mut self.findings, &mut self.findings_dropped, &self.options, finding);
    }

    /// Reports once, at the end of the document, that bytes were replaced because they are not in its encoding.
    #[inline]
    pub(super) fn report_replaced(&mut self) {
        if self.next == Next::End && self.replaced.take().is_some_and(|replaced| replaced.load(Relaxed)) {
            let what = "bytes that are not in the encoding of the document, each replaced by U+FFFD";
            self.report("GEN-24", Severity::Error, what, "UTF-8");
        }
    }

    pub(super) fn syntax(&self, kind: SyntaxErrorKind) -> ReadError {
        SyntaxError { kind, position: self.at }.into()
    }

    pub(super) fn ill_formed(&self, what: &str) -> ReadError {
        self.syntax(SyntaxErrorKind::NotWellFormed(what.into()))
    }

    pub(super) fn not_well_formed(&self, error: IllFormedError) -> ReadError {
        self.ill_formed(&quick_xml::Error::from(error).to_string())
    }

    pub(super) fn stopped(&mut self, stop: Stop) -> ReadError {
        self.locate(self.step_start.max(self.at.offset));
        match stop {
            Stop::Io(error) => ReadError::Io(error),
            Stop::Limit(limit, most) => self.syntax(SyntaxErrorKind::Limit { limit, most }),
            Stop::Forbidden(offset) => {
                self.locate(offset);
                self.ill_formed("a character that XML does not allow")
            }
            Stop::Encoding(offset) => {
                self.locate(offset);
                self.ill_formed("bytes that are not UTF-8")
            }
            Stop::Unclosed => self.syntax(SyntaxErrorKind::Truncated),
            Stop::Reference => self.not_well_formed(IllFormedError::UnclosedReference),
        }
    }
}
