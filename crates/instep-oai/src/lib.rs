#![doc = include_str!("../README.md")]

mod answer;
mod datestamp;
mod full_text;
mod harvest;
mod name;
mod repository;
mod response;
mod source;
mod well_formed;

pub use answer::{OaiGateway, RepositoryOptions};
pub use harvest::HarvestOptions;
pub use repository::{RepositoryUrl, RepositoryUrlError};
pub use source::HarvestedRepository;
