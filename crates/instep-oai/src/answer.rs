//! A Source as a repository: OAI-PMH over its resources that are XML.

mod arguments;
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
