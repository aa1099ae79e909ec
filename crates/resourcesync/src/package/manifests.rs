//! Manifests in several parts: `manifest.xml` is an index, and its members are manifests in the same package (DIA-2).

use std::io::{BufReader, Read, Seek};

use super::{MANIFEST, MemberReader, Package, PackageError, PackageProblem};
use crate::{
    document::{Entry, Form},
    value::PackagePath,
    xml::{Decoded, DocumentReader, ReadOptions},
};

/// Parts that a manifest may have. A part of the usual size names 50,000 bitstreams, so this allows for more than a
/// package may have members.
const PARTS: usize = 10_000;

impl<R: Read + Seek> Package<R> {
    /// Returns the paths of the manifests that name the package's bitstreams, in order: that of `manifest.xml`, or, if
    /// it is an index, those of its members.
    ///
    /// ```
    /// # use std::io::Cursor;
    /// # use resourcesync::{PackagePath, ReadOptions, package::{Package, PackageLimits, PackageWriter}};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let manifest = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>";
    /// # let zip = PackageWriter::new(Cursor::new(Vec::new()), manifest)?.finish()?;
    /// let mut package = Package::open(zip, PackageLimits::new())?;
    /// for path in package.manifests(ReadOptions::new())? {
    ///     let mut manifest = package.manifest_at(&path, ReadOptions::new())?;
    ///     for entry in manifest.entries() {
    ///         println!("{}", entry?.loc);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the manifest cannot be read, or the index names a member that is not there or is itself an index.
    pub fn manifests(&mut self, options: ReadOptions) -> Result<Vec<PackagePath>, PackageError> {
        let mut reader = self.manifest(options.clone())?;
        if reader.header().form == Form::List {
            return Ok(vec![PackagePath::new(MANIFEST)]);
        }
        let (mut parts, mut entry) = (Vec::new(), Entry::default());
        while reader.read_entry(&mut entry)? {
            if parts.len() == PARTS {
                let what = format!("a manifest in more than {PARTS} parts");
                return Err(PackageError::Refused(PackageProblem { rule: "ZIP-7", what }));
            }
            parts.push((entry.metadata.path.take(), entry.loc.clone()));
        }
        let mut paths = Vec::with_capacity(parts.len());
        for (path, loc) in parts {
            let path = path.unwrap_or_else(|| self.path_of(loc.as_str()));
            if self.manifest_at(&path, options.clone())?.header().form == Form::Index {
                let what = format!("the manifest {path} is an index in an index");
                return Err(PackageError::Refused(PackageProblem { rule: "GEN-9", what }));
            }
            paths.push(path);
        }
        Ok(paths)
    }

    /// Opens the manifest at a path that [`Package::manifests`] returned, to read its entries one by one.
    ///
    /// # Errors
    /// If no member has the path, or it cannot be read.
    pub fn manifest_at(
        &mut self,
        path: &PackagePath,
        options: ReadOptions,
    ) -> Result<DocumentReader<Decoded<BufReader<MemberReader<'_, R>>>>, PackageError> {
        let manifest = self.bitstream(path)?;
        Ok(DocumentReader::open(BufReader::new(manifest), options)?)
    }

    /// Returns the path of a part that states none: the longest end of its URI that is a member, else its last segment.
    fn path_of(&mut self, loc: &str) -> PackagePath {
        let rest = loc.split_once("://").map_or(loc, |(_, rest)| rest);
        let ends = rest.match_indices('/').map(|(at, _)| PackagePath::new(&rest[at..]));
        let mut ends: Vec<_> = ends.collect();
        let last = ends.pop().unwrap_or_else(|| PackagePath::new(rest));
        let found = ends.into_iter().find(|path| matches!(self.member(path), Ok(Some(_))));
        found.unwrap_or(last)
    }
}
