//! What was noticed about a document: a value, never a log line.

use std::fmt;

/// Where in a document, in bytes as decoded. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Byte in the line, from 1.
    pub column: u64,
    /// Bytes before it, from 0.
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Where the parts of a header or an entry stand. It is not part of their value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) root: Position,
    pub(crate) metadata: Position,
    pub(crate) links: Vec<Position>,
    /// Whether the metadata has a time that cannot be read: it is wrong, but not missing.
    pub(crate) unreadable_time: bool,
}

impl Places {
    /// Where the metadata stands, or else what it would describe.
    pub(crate) fn metadata_or(&self, otherwise: Position) -> Position {
        if self.metadata.line == 0 { otherwise } else { self.metadata }
    }

    /// Takes everything away, keeping buffers.
    pub(crate) fn clear(&mut self) {
        (self.root, self.metadata) = Default::default();
        self.links.clear();
        self.unreadable_time = false;
    }
}

/// How much a finding weighs: `must` -> error, `should` -> warning, `may` and derived rules -> info.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// A *should* is not followed, or a value was read otherwise than written.
    Warning,
    /// A *must* is broken.
    Error,
}

impl Severity {
    /// `info`, `warning` or `error`.
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

/// One thing noticed about a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule's id: `RL-2`.
    pub rule: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Where.
    pub position: Position,
    /// What stands there.
    pub found: String,
    /// What the rule wants.
    pub expected: String,
}

impl Finding {
    /// A finding at a place.
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
