//! The values of attributes and elements, one file each (§7, Table 3).
//!
//! Each value reads from text with `parse` or [`str::parse`] and is written with [`Display`](std::fmt::Display). The
//! values that the standard leaves open (capabilities, relations, changes, algorithms) keep an unknown text as written.
//!
//! ```
//! use resourcesync::{Capability, ChangeFreq, Digest, MediaType, Relation};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! assert_eq!("changelist".parse::<Capability>()?, Capability::ChangeList);
//! assert_eq!("describedby".parse::<Relation>()?.to_string(), "describedby");
//! assert_eq!("text/html".parse::<MediaType>()?.essence(), "text/html");
//! assert!("text".parse::<MediaType>().is_err());
//! assert!("often".parse::<ChangeFreq>().is_err());
//! let digest: Digest = "md5:1cb251ec0d568de6a929b520c4aed8d1".parse()?;
//! assert_eq!(digest.bytes().map(<[u8]>::len), Some(16));
//! # Ok(())
//! # }
//! ```

mod capability;
mod change;
mod datetime;
mod digest;
mod error;
mod hasher;
mod media_type;
mod package_path;
mod relation;
mod uri;

pub use capability::Capability;
pub use change::{Change, ChangeFreq};
pub use datetime::{DateTime, Precision};
pub use digest::{Algorithm, Digest, DigestBytes, DigestError, DigestValue, Digests};
pub use error::ValueError;
pub use hasher::Hasher;
pub use media_type::MediaType;
pub use package_path::PackagePath;
pub use relation::Relation;
pub(crate) use uri::lacks_host;
pub use uri::{Uri, UriError};
