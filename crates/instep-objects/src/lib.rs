#![doc = include_str!("../README.md")]

#[cfg(feature = "s3")]
mod bucket;
#[cfg(feature = "s3")]
mod connector;
mod error;
#[cfg(feature = "s3")]
mod failure;
#[cfg(feature = "s3")]
mod kept;
#[cfg(not(feature = "s3"))]
mod no_bucket;
mod object;
mod place;
#[cfg(feature = "s3")]
mod profile;
#[cfg(feature = "s3")]
mod settings;
#[cfg(feature = "s3")]
mod signed;

#[cfg(feature = "s3")]
pub use bucket::Bucket;
pub use error::{BucketError, InvalidPlace};
#[cfg(not(feature = "s3"))]
pub use no_bucket::Bucket;
pub use object::{KeptDigests, ListedObject, NewObject, ObjectMark, ObjectStart, md5_of_etag};
pub use place::ObjectPlace;
