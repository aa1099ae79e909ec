//! A Source as a repository: OAI-PMH over its resources; each is described in Dublin Core, and XML is metadata itself.

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
mod token;
mod verbs;
mod xml;

pub use gateway::OaiGateway;
pub use options::RepositoryOptions;
