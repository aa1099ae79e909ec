//! A copy as a bag: a folder with files and their digests (BagIt 1.0, RFC 8493), which digital archives accept.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::Context;
use instep_destination::{HeldResource, HttpOptions, now};
use resourcesync::{Algorithm, Digests, Hasher, MediaType};
use serde_json::json;

use super::{Bytes, ExportForm, Exported, folder::UnfinishedFolder, verified::STEP};

/// The list of the resources in a bag: a manifest from which they can be published again.
const RESOURCES: &str = "resources.jsonl";
const MANIFEST: &str = "manifest-sha256.txt";

/// A bag while it is filled.
#[derive(Debug)]
pub(crate) struct BagWriter {
    folder: UnfinishedFolder,
    manifest: BufWriter<File>,
    resources: BufWriter<File>,
    /// The number of files in the payload, and their bytes.
    files: u64,
    bytes: u64,
}

impl BagWriter {
    /// Begins a bag in a folder that does not exist yet.
    ///
    /// Errors: something has the name of the folder, or it cannot be written.
    pub(crate) fn begin(folder: &Path) -> anyhow::Result<Self> {
        let folder = UnfinishedFolder::begin(folder)?;
        let failed = || format!("Cannot write {}", folder.path.display());
        fs::create_dir_all(folder.path.join("data")).with_context(failed)?;
        let create =
            |name: &str| File::create(folder.path.join(name)).map(BufWriter::new).with_context(failed);
        let (manifest, resources) = (create(MANIFEST)?, create(RESOURCES)?);
        Ok(Self { folder, manifest, resources, files: 0, bytes: 0 })
    }
}

impl ExportForm for BagWriter {
    fn add(
        &mut self,
        resource: &Exported,
        held: &HeldResource,
        bytes: Bytes,
    ) -> anyhow::Result<Option<String>> {
        let path = format!("data/{}", payload_name(resource.path.as_str()));
        let (length, found) = match self.folder.add(&path, held, bytes)? {
            Ok(copied) => copied,
            Err(what) => return Ok(Some(what)),
        };
        writeln!(self.manifest, "{}  {path}", sha256(&found)?)?;
        let metadata = &held.metadata;
        let line = json!({
            "uri": resource.uri.as_str(),
            "path": path,
            "length": length,
            "hash": found.to_string(),
            "type": metadata.media_type.as_ref().map(MediaType::as_str),
            "lastmod": metadata.lastmod.map(|time| time.to_string()),
        });
        writeln!(self.resources, "{line}")?;
        (self.files, self.bytes) = (self.files + 1, self.bytes + length);
        Ok(None)
    }

    fn finish(mut self: Box<Self>, source: Option<&str>) -> anyhow::Result<()> {
        self.manifest.flush()?;
        self.resources.flush()?;
        let time = now().to_string();
        let mut about = format!(
            "Bag-Software-Agent: {}\nBagging-Date: {}\nPayload-Oxum: {}.{}\n",
            HttpOptions::USER_AGENT,
            time.split('T').next().unwrap_or_default(),
            self.bytes,
            self.files
        );
        about.extend(source.map(|source| format!("External-Identifier: {source}\n")));
        let write = |name: &str, text: &str| fs::write(self.folder.path.join(name), text);
        write("bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")?;
        write("bag-info.txt", &about)?;
        let mut tags = String::new();
        for name in ["bag-info.txt", "bagit.txt", MANIFEST, RESOURCES] {
            let mut hasher = Hasher::new(&[Algorithm::Sha256]);
            let mut file = File::open(self.folder.path.join(name))?;
            hasher.take_all(&mut file, &mut vec![0; STEP])?;
            file.sync_data()?;
            tags.push_str(&format!("{}  {name}\n", sha256(&hasher.finish())?));
        }
        write("tagmanifest-sha256.txt", &tags)?;
        let Self { folder, .. } = *self;
        folder.finish()
    }
}

/// Returns the name of a path in the payload. Tools disagree about percent signs in manifests, so a percent sign is
/// written as `=25`, and the escape character `=` as `=3D`.
fn payload_name(path: &str) -> String {
    path.replace('=', "=3D").replace('%', "=25").replace('\r', "=0D").replace('\n', "=0A")
}

fn sha256(digests: &Digests) -> anyhow::Result<String> {
    let digest = digests.get(&Algorithm::Sha256).context("no SHA-256")?.to_string();
    Ok(digest.rsplit(':').next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_paths_never_get_the_same_name_in_a_bag() {
        assert_eq!(payload_name("a/%40index"), "a/=2540index");
        assert_eq!(payload_name("a/=2540index"), "a/=3D2540index");
    }
}
