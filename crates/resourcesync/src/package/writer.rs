//! Writing packages.

use std::io::{Read, Seek, Write, copy};

use zip::{
    CompressionMethod, DateTime, System, ZipWriter,
    write::{PreparedZipFile, SimpleFileOptions},
};

use super::{MANIFEST, PackageError, sink::PackageSink};
use crate::value::{MediaType, PackagePath};

/// Members up to this size are compressed in memory, so that their own headers have sizes and checksum: readers can use
/// them while the package is still arriving.
const PREPARED: u64 = 1 << 20;
/// Members of at least this size get zip64 fields: the limit of the format, less the bytes that compression may add.
const LARGE: u64 = 0xf000_0000;

/// Writes a package: the manifest first, then one bitstream after the other. Equal input gives equal bytes.
#[derive(Debug)]
pub struct PackageWriter<W: Write + Seek> {
    zip: ZipWriter<PackageSink<W>>,
}

impl<W: Write + Seek> PackageWriter<W> {
    /// Begins a package with its manifest (ZIP-3), which names the bitstreams that will be added.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn new(sink: W, manifest: &[u8]) -> Result<Self, PackageError> {
        let mut writer = Self::without_manifest(sink);
        writer.add_member(MANIFEST, true, manifest.len() as u64, manifest)?;
        Ok(writer)
    }

    /// Begins an archive that is no package of the standard: nothing describes its members.
    pub fn without_manifest(sink: W) -> Self {
        Self { zip: ZipWriter::new(PackageSink::new(sink)) }
    }

    /// Adds a bitstream of `length` bytes under the path that the manifest gives it (ZIP-5). Media types that compress
    /// well are deflated, others stored.
    ///
    /// # Errors
    /// If the sink or the content fails, the path is unusable or taken, or the content has another length.
    pub fn add(
        &mut self,
        path: &PackagePath,
        media_type: Option<&MediaType>,
        length: u64,
        content: impl Read,
    ) -> Result<(), PackageError> {
        let name = path.member().map_err(|source| PackageError::Path { path: path.to_string(), source })?;
        self.add_member(name, media_type.is_some_and(compresses), length, content)
    }

    /// Writes the directory and returns the sink.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn finish(self) -> Result<W, PackageError> {
        let ended = self.zip.finish().and_then(|sink| sink.into_whole().map_err(zip::result::ZipError::Io));
        ended.map_err(|source| PackageError::Add { path: "the directory".into(), source })
    }

    fn add_member(
        &mut self,
        name: &str,
        deflate: bool,
        length: u64,
        mut content: impl Read,
    ) -> Result<(), PackageError> {
        let refused = |source| PackageError::Add { path: name.to_owned(), source };
        let method = if deflate { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(DateTime::default())
            .system(System::Unix)
            .unix_permissions(0o644)
            .large_file(length >= LARGE);
        let found = if length <= PREPARED {
            let mut bytes = Vec::with_capacity(length as usize);
            content.by_ref().take(length + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == length {
                let prepared = PreparedZipFile::from_data(name, options, &bytes).map_err(refused)?;
                self.zip.add_prepared_file(prepared).map_err(refused)?;
            }
            bytes.len() as u64
        } else {
            self.zip.start_file(name, options).map_err(refused)?;
            copy(&mut content.by_ref().take(length + 1), &mut self.zip)?
        };
        if found == length {
            Ok(())
        } else {
            Err(PackageError::Length { path: name.to_owned(), expected: length, found })
        }
    }
}

/// Returns `true` if bytes of a media type usually become much smaller: text, XML, JSON and similar types.
fn compresses(media_type: &MediaType) -> bool {
    let essence = media_type.essence().to_ascii_lowercase();
    let Some((kind, subtype)) = essence.split_once('/') else { return false };
    let known =
        ["xml", "json", "javascript", "ecmascript", "sql", "rtf", "postscript", "x-tex", "x-sh", "wasm"];
    let structured = ["+xml", "+json", "+yaml"];
    kind == "text"
        || known.contains(&subtype)
        || structured.iter().any(|suffix| subtype.ends_with(suffix))
        || matches!(subtype, "bmp" | "x-ms-bmp" | "x-tar" | "n-triples" | "n-quads" | "trig" | "vnd.sqlite3")
}
