//! Findings: values that describe a fault or peculiarity of a document, never log lines.

use std::fmt;

/// A place in a document, in decoded bytes. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1; 0 if the place is not in a document.
    pub line: u64,
    /// The byte in the line, from 1.
    pub column: u64,
    /// The number of bytes before it.
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The places of the parts of a header or an entry. They are not part of their value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) root: Position,
    pub(crate) metadata: Position,
    pub(crate) links: Vec<Position>,
    /// `true` if the metadata has a time that cannot be read: it is wrong, but not missing.
    pub(crate) unreadable_time: bool,
    /// `true` if the metadata has a length that cannot be read.
    pub(crate) unreadable_length: bool,
}

impl Places {
    /// Returns the place of the metadata, or of the element that it would describe if there is none.
    pub(crate) fn metadata_or(&self, otherwise: Position) -> Position {
        if self.metadata.line == 0 { otherwise } else { self.metadata }
    }

    /// Removes every place and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        (self.root, self.metadata) = Default::default();
        self.links.clear();
        (self.unreadable_time, self.unreadable_length) = (false, false);
    }
}

/// The weight of a finding: `must` -> error, `should` -> warning, `may` -> info; derived rules weigh one less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A remark: nothing has to be changed.
    Info,
    /// A *should* is not followed, or a value was not read as it is written.
    Warning,
    /// A *must* is broken.
    Error,
}

impl Severity {
    /// Returns `info`, `warning` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An observation about a document, with the rule that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule's id: `RL-2`.
    pub rule: &'static str,
    /// The weight.
    pub severity: Severity,
    /// The place.
    pub position: Position,
    /// The text or state that was found.
    pub found: String,
    /// The text or state that the rule requires.
    pub expected: String,
}

impl Finding {
    /// Creates a finding.
    pub fn new(
        rule: &'static str,
        severity: Severity,
        position: Position,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self { rule, severity, position, found: found.into(), expected: expected.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} at {}: found {}, expected {}",
            self.severity, self.rule, self.position, self.found, self.expected
        )
    }
}
