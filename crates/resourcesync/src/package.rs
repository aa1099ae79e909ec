//! Packages (§11.2, §13.2): a ZIP file with `manifest.xml` and the bitstreams it names.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::io::{Cursor, Read};
//! use resourcesync::{Document, Entry, PackagePath, ReadOptions, document::ResourceDumpManifest};
//! use resourcesync::package::{Package, PackageLimits, PackageWriter};
//!
//! let manifest =
//!     ResourceDumpManifest::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
//!         .push(Entry::new("http://example.com/res1".parse()?).with_path(PackagePath::new("/res1")));
//!
//! let mut writer = PackageWriter::new(Cursor::new(Vec::new()), manifest.to_xml()?.as_bytes())?;
//! writer.add(&PackagePath::new("/res1"), None, 5, &b"hello"[..])?;
//! let zip = writer.finish()?;
//!
//! let mut package = Package::open(zip, PackageLimits::new())?;
//! let Document::ResourceDumpManifest(manifest) = package.read_manifest(ReadOptions::new())? else { panic!() };
//! let path = manifest.bitstream_for(&"http://example.com/res1".parse()?).unwrap();
//! let mut text = String::new();
//! package.bitstream(path)?.read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # }
//! ```

mod arriving;
mod directory;
mod entry;
mod manifests;
mod member;
mod records;
mod sink;
mod writer;

use std::io::{self, BufReader, Read, Seek};

pub use arriving::ArrivingPackage;
pub(crate) use directory::{Directory, FoundMember};
pub use directory::{PackageLimits, PackageProblem};
pub use member::{MANIFEST, Member, MemberReader};
pub use writer::PackageWriter;

use member::Inflater;

use crate::{
    document::Document,
    error::ReadError,
    value::{PackagePath, ValueError},
    xml::{Decoded, DocumentReader, ReadOptions},
};

/// The reason why a package cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The bytes cannot be read or written.
    #[error("Cannot read or write the package")]
    Io(#[from] io::Error),
    /// The package is not safe to read, or not a ZIP file. It is refused as a whole (ZIP-1, ZIP-3, ZIP-7).
    #[error("Refused: {0}")]
    Refused(PackageProblem),
    /// The member cannot be used, whatever the others are (ZIP-7).
    #[error("{0}")]
    Unusable(PackageProblem),
    /// No member has the name.
    #[error("No member {name:?} in the package")]
    NoMember {
        /// The name.
        name: String,
    },
    /// A path names no member.
    #[error("{path:?} cannot name a member")]
    Path {
        /// The path.
        path: String,
        /// The reason.
        source: ValueError,
    },
    /// The manifest cannot be read.
    #[error("Cannot read the manifest")]
    Manifest(#[from] ReadError),
    /// A bitstream has another length than announced.
    #[error("{path:?} has {found} bytes instead of {expected}")]
    Length {
        /// The path.
        path: String,
        /// The announced length in bytes.
        expected: u64,
        /// The actual length in bytes.
        found: u64,
    },
    /// The ZIP writer refused a member.
    #[error("Cannot add {path:?}")]
    Add {
        /// The path.
        path: String,
        /// The reason.
        source: zip::result::ZipError,
    },
}

/// A package whose directory was checked: each member is at the place stated. Those that are not safe to read, or whose
/// name is there twice, are not used and cost no other ([`Package::unusable`]).
#[derive(Debug)]
pub struct Package<R> {
    source: R,
    directory: Directory,
    inflater: Inflater,
}

impl<R: Read + Seek> Package<R> {
    /// Reads and checks the directory. No member is read.
    ///
    /// # Errors
    /// If the bytes cannot be read, or the package is refused.
    pub fn open(mut source: R, limits: PackageLimits) -> Result<Self, PackageError> {
        let mut directory = Directory::read(&mut source, limits)?;
        if !directory.problems.is_empty() {
            return Err(PackageError::Refused(directory.problems.swap_remove(0)));
        }
        Ok(Self { source, directory, inflater: Inflater::new() })
    }

    /// Returns the number of members, folders among them.
    pub fn len(&self) -> usize {
        self.directory.len()
    }

    /// Returns `true` if it has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of members that cannot be used, such as links, encrypted members and those with names that lead
    /// out of the package, and the first of them with the reasons (ZIP-7).
    pub fn unusable(&self) -> (u64, &[PackageProblem]) {
        (self.directory.unusable_count, &self.directory.unusable)
    }

    /// Returns the members that hold bytes and can be used, in the order of the directory, which is read again.
    pub fn members(&mut self) -> impl Iterator<Item = io::Result<Member>> {
        let members = self.directory.members(&mut self.source);
        members.filter(|member| member.as_ref().map_or(true, |member| !member.is_folder()))
    }

    /// Opens the manifest to read its entries one by one (ZIP-3).
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn manifest(
        &mut self,
        options: ReadOptions,
    ) -> Result<DocumentReader<Decoded<BufReader<MemberReader<'_, R>>>>, PackageError> {
        let manifest = self.open_member(MANIFEST)?;
        Ok(DocumentReader::open(BufReader::new(manifest), options)?)
    }

    /// Reads the manifest as a whole: a Resource Dump Manifest or a Change Dump Manifest (ZIP-4).
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn read_manifest(&mut self, options: ReadOptions) -> Result<Document, PackageError> {
        let manifest = self.open_member(MANIFEST)?;
        Ok(Document::read(BufReader::new(manifest), options)?)
    }

    /// Opens the bitstream at a path (ZIP-5). Its length and checksum are verified at its end.
    ///
    /// # Errors
    /// If no member has the path, or it cannot be used.
    pub fn bitstream(&mut self, path: &PackagePath) -> Result<MemberReader<'_, R>, PackageError> {
        let name = path.member().map_err(|source| PackageError::Path { path: path.to_string(), source })?;
        self.open_member(name)
    }

    /// Returns `true` if the directory has exactly this member, at its place and with its sizes and checksum.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn has(&mut self, member: &Member) -> io::Result<bool> {
        let found = self.directory.find(&mut self.source, &member.name)?;
        Ok(matches!(found, FoundMember::Member(found) if found == *member))
    }

    /// Returns the member at a path; `None` if there is none that can be used (ZIP-6).
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn member(&mut self, path: &PackagePath) -> io::Result<Option<Member>> {
        Ok(match self.find(path)? {
            FoundMember::Member(member) => Some(member),
            FoundMember::Missing | FoundMember::Unusable(_) => None,
        })
    }

    /// Looks for the member at a path.
    pub(crate) fn find(&mut self, path: &PackagePath) -> io::Result<FoundMember> {
        path.member().map_or(Ok(FoundMember::Missing), |name| self.directory.find(&mut self.source, name))
    }

    fn open_member(&mut self, name: &str) -> Result<MemberReader<'_, R>, PackageError> {
        match self.directory.find(&mut self.source, name)? {
            FoundMember::Member(member) if !member.is_folder() => {
                Ok(MemberReader::open(&mut self.source, &mut self.inflater, &member)?)
            }
            FoundMember::Unusable(problem) => Err(PackageError::Unusable(problem)),
            FoundMember::Member(_) | FoundMember::Missing => {
                Err(PackageError::NoMember { name: name.to_owned() })
            }
        }
    }
}
