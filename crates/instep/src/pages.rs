//! Pages for people: one design for a running Source and for a copy. They need no script, load nothing from elsewhere, and
//! take every name from outside as text.

mod address;
pub(crate) mod chart;
pub(crate) mod copy;
pub(crate) mod design;
mod fleet;
mod own_name;
pub(crate) mod source;

pub(crate) use copy::{CopyMonitor, CopyServer};
pub(crate) use fleet::{FleetListener, FleetServer, OperatorAccess, source_object};
pub(crate) use source::SourcePages;

/// Shows documents as pages in browsers that support XSLT. It is published beside them.
pub(crate) const STYLESHEET: &str = include_str!("pages/stylesheet.xsl");
