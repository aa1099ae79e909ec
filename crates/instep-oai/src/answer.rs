//! A Source as a repository: OAI-PMH over its resources; each is described in Dublin Core, and XML is metadata itself.
//!
//! An index of identifiers and datestamps follows the change log, and is rebuilt by comparison with all resources if
//! the log does not reach back. The datestamps of the records are therefore times of publication, and a token is a
//! signed position in (datestamp, number).

mod about;
mod arguments;
mod dublin_core;
mod error;
mod follow;
mod format;
mod gateway;
mod index;
mod item;
mod lists;
mod options;
mod schema;
mod token;
mod unread;
mod verbs;
mod xml;

pub use gateway::OaiGateway;
pub use options::RepositoryOptions;
