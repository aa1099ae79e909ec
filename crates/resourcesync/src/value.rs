//! Validated values of attributes and elements, one file each (§7, Table 3).

mod capability;
mod change;
mod datetime;
mod digest;
mod hasher;
mod media_type;
mod package_path;
mod relation;
mod uri;

pub use capability::Capability;
pub use change::{Change, ChangeFreq};
pub use datetime::{DateTime, DateTimeError, Precision};
pub use digest::{Algorithm, Digest, DigestError, DigestValue, Digests};
pub use hasher::Hasher;
pub use media_type::MediaType;
pub use package_path::{PackagePath, PackagePathError};
pub use relation::Relation;
pub use uri::{Uri, UriError};
