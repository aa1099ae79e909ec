//! The carrier of a plan's bytes. `sync/carriers.rs` chooses it.

use super::batches::BatchEndpoint;
use crate::read::PackageList;

/// The way in which the bytes of a plan are transferred.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// A request to the URI of each resource.
    Requests,
    /// The packages of dumps, list by list, then requests for the remaining resources.
    Packages(Vec<PackageList>),
    /// Packages requested at this URI, then requests for the remaining resources.
    Batch(BatchEndpoint),
}
