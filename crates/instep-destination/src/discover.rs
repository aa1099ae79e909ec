//! Discovery: finds the documents and capabilities of a Source from any URL. Resources are not fetched here.

mod activity;
mod beside;
mod capability_list;
mod climb;
mod error;
mod explore;
mod former;
mod found;
mod from_url;
mod listed;
mod places;
mod search;
mod several;
mod sight;
mod trouble;

pub use error::DiscoverError;
pub use explore::{Node, Times, explore};
pub(crate) use former::FormerDocuments;
pub use found::{CapabilitySet, Discovered, Offer, Way};
pub use from_url::discover;
pub(crate) use from_url::discover_again;
pub use trouble::Trouble;

#[cfg(test)]
mod tests;
