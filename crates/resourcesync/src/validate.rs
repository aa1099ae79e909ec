//! Validation: documents, packages and sets of documents in, findings out.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! use resourcesync::{Severity, validate::{Validator, ValidateOptions}};
//! let list = br#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
//!     xmlns:rs="http://www.openarchives.org/rs/terms/">
//!   <rs:ln rel="up" href="http://example.com/capabilitylist.xml"/>
//!   <rs:md capability="resourcelist"/>
//! </urlset>"#;
//! let report = Validator::new(ValidateOptions::new()).document(&list[..])?;
//! let errors: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
//! assert_eq!((errors[0].rule, errors[0].position.line), ("RL-2", 4));
//! # Ok(())
//! # }
//! ```

mod coverage;
mod document;
mod entry;
mod file_names;
mod findings;
mod header;
mod http;
mod link;
mod links;
mod options;
mod package;
mod rules;
mod set;
mod twin;
mod walk;

use std::hash::{DefaultHasher, Hash, Hasher};

pub use document::Validator;
pub use findings::{Child, Report, Summary};
pub use http::{HttpAnswer, check_channel};
pub use options::ValidateOptions;
pub use package::PackageReport;
pub use rules::{Level, Rule};
pub use set::DocumentSet;
pub use walk::{check_closed, check_discovered, check_page, check_source, check_up_target};

/// Returns a short digest of a text, to recognize the text without keeping it.
fn digest_of(text: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
