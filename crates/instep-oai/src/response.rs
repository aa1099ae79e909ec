//! A response of a repository, read tolerantly: a record that is damaged costs no other one. PURE.

mod effort;
mod elements;
mod fragment;
mod namespaces;
mod parts;
mod recovery;
mod repair;
mod tags;
mod walk;

pub(crate) use parts::{NotOai, OaiRecord, OaiResponse, ProtocolError, RecordFault};

#[cfg(test)]
mod tests;
