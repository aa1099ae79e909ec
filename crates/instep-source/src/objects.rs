//! Object storage that speaks S3: where a bucket is, and the documents that are put into it. It knows them by their names
//! only, and nothing of publications.

#[cfg(feature = "objects")]
mod bucket;
#[cfg(feature = "objects")]
mod connector;
#[cfg(feature = "objects")]
mod failure;
#[cfg(not(feature = "objects"))]
mod no_bucket;
mod place;

#[cfg(feature = "objects")]
pub(crate) use bucket::Bucket;
#[cfg(not(feature = "objects"))]
pub(crate) use no_bucket::Bucket;
pub use place::ObjectPlace;
