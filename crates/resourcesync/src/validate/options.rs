//! Options of validation.

use crate::{
    value::{Capability, Uri},
    xml::{Limits, SpecVersion},
};

/// Options of validation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ValidateOptions {
    /// The version of the standard to judge by (DIA-9).
    pub version: SpecVersion,
    /// Treats warnings as errors.
    pub strict: bool,
    /// The URI of the document.
    pub base: Option<Uri>,
    /// The limits of reading.
    pub limits: Limits,
    /// Findings that a report keeps; 1,000. Further ones are counted.
    pub findings: usize,
    /// Findings of one rule that a report keeps; 100. Further ones are counted, so that a fault of every entry does not
    /// hide the others.
    pub findings_per_rule: usize,
    /// The capability that the document must have, if the document that led to it states one.
    pub expected: Option<Capability>,
    /// `true` if an index led to the document (RL-4, RD-4, CL-4, CD-4).
    pub below_index: bool,
}

impl ValidateOptions {
    /// Judges by version 1.1, not strictly, and keeps 1,000 findings.
    pub fn new() -> Self {
        Self {
            version: SpecVersion::V1_1,
            strict: false,
            base: None,
            limits: Limits::default(),
            findings: 1_000,
            findings_per_rule: 100,
            expected: None,
            below_index: false,
        }
    }
}

impl Default for ValidateOptions {
    fn default() -> Self {
        Self::new()
    }
}
