//! A copy as a bag (BagIt 1.0, RFC 8493): what archives take in.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use instep_destination::{Contents, HeldResource, HttpOptions, now};
use resourcesync::{Algorithm, Digests, Hasher};
use serde_json::json;

/// The list of the resources in a bag: a manifest from which they can be published again.
const RESOURCES: &str = "resources.jsonl";
const MANIFEST: &str = "manifest-sha256.txt";

/// Bytes that are copied at a time.
const STEP: usize = 256 << 10;

/// A bag while it is filled, beside the name that it gets when it is whole.
pub(crate) struct BagWriter {
    folder: PathBuf,
    unfinished: PathBuf,
    manifest: BufWriter<File>,
    resources: BufWriter<File>,
    /// Files and bytes of the payload.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl BagWriter {
    /// Begins a bag in a folder that is not there yet.
    ///
    /// Errors: something has the name of the folder, or it cannot be written.
    pub(crate) fn begin(folder: &Path) -> anyhow::Result<Self> {
        if folder.exists() {
            bail!("{} is there already; name a folder that is not", folder.display());
        }
        let name = folder.file_name().with_context(|| format!("{} is no name", folder.display()))?;
        let unfinished = folder.with_file_name(format!("{}.unfinished", name.to_string_lossy()));
        // Of an export that was killed.
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)
                .with_context(|| format!("Cannot remove {}", unfinished.display()))?;
        }
        let failed = || format!("Cannot write {}", unfinished.display());
        fs::create_dir_all(unfinished.join("data")).with_context(failed)?;
        let create =
            |name: &str| File::create(unfinished.join(name)).map(BufWriter::new).with_context(failed);
        let (manifest, resources) = (create(MANIFEST)?, create(RESOURCES)?);
        Ok(Self { folder: folder.to_owned(), unfinished, manifest, resources, files: 0, bytes: 0 })
    }

    /// Adds a resource of a copy, if its file is what it should be. Returns what is wrong with it otherwise.
    ///
    /// Errors: the bag cannot be written.
    pub(crate) fn add(&mut self, contents: &Contents, held: &HeldResource) -> anyhow::Result<Option<String>> {
        let path = format!("data/{}", payload_name(held.path.as_str()));
        let mut file = match contents.read(held) {
            Ok(file) => file,
            Err(error) => {
                return Ok(Some(format!("its file cannot be read: {:#}", anyhow::Error::from(error))));
            }
        };
        let target = self.unfinished.join(&path);
        let failed = || format!("Cannot write {}", target.display());
        fs::create_dir_all(target.parent().unwrap_or(&self.unfinished)).with_context(failed)?;
        let mut out = File::create(&target).with_context(failed)?;
        let mut algorithms = vec![Algorithm::Sha256];
        algorithms.extend(held.metadata.digests.iter().map(|digest| digest.algorithm.clone()));
        algorithms.dedup();
        let mut hasher = Hasher::new(&algorithms);
        let bytes = match copy(&mut *file, &mut out, &mut hasher) {
            Ok(bytes) => bytes,
            Err(CopyFault::Read(error)) => {
                fs::remove_file(&target).with_context(failed)?;
                return Ok(Some(format!("its file cannot be read: {error}")));
            }
            Err(CopyFault::Write(error)) => return Err(error).with_context(failed),
        };
        let found = hasher.finish();
        if held.metadata.digests.agrees_with(&found) == Some(false) {
            fs::remove_file(&target).with_context(failed)?;
            return Ok(Some(
                "its file is not what the copy recorded; instep sync --repair fetches it again".to_owned(),
            ));
        }
        out.sync_data().with_context(failed)?;
        writeln!(self.manifest, "{}  {path}", sha256(&found)?)?;
        let metadata = &held.metadata;
        let line = json!({
            "uri": held.uri.as_str(),
            "path": path,
            "length": bytes,
            "hash": found.to_string(),
            "type": metadata.media_type.as_ref().map(resourcesync::MediaType::as_str),
            "lastmod": metadata.lastmod.map(|time| time.to_string()),
        });
        writeln!(self.resources, "{line}")?;
        (self.files, self.bytes) = (self.files + 1, self.bytes + bytes);
        Ok(None)
    }

    /// Writes the tags and gives the bag its name.
    ///
    /// Errors: the bag cannot be written.
    pub(crate) fn finish(mut self, source: Option<&str>) -> anyhow::Result<()> {
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
        let write = |name: &str, text: &str| fs::write(self.unfinished.join(name), text);
        write("bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")?;
        write("bag-info.txt", &about)?;
        let mut tags = String::new();
        for name in ["bag-info.txt", "bagit.txt", MANIFEST, RESOURCES] {
            let mut hasher = Hasher::new(&[Algorithm::Sha256]);
            let mut file = File::open(self.unfinished.join(name))?;
            hasher.take_all(&mut file, &mut vec![0; STEP])?;
            file.sync_data()?;
            tags.push_str(&format!("{}  {name}\n", sha256(&hasher.finish())?));
        }
        write("tagmanifest-sha256.txt", &tags)?;
        fs::rename(&self.unfinished, &self.folder)
            .with_context(|| format!("Cannot write {}", self.folder.display()))
    }
}

/// Returns the name of a path in the payload. Tools disagree whether a percent sign in a manifest is one, so it is written
/// in another way, and so is what that way begins with.
fn payload_name(path: &str) -> String {
    path.replace('=', "=3D").replace('%', "=25").replace('\r', "=0D").replace('\n', "=0A")
}

fn sha256(digests: &Digests) -> anyhow::Result<String> {
    let digest = digests.get(&Algorithm::Sha256).context("no SHA-256")?.to_string();
    Ok(digest.rsplit(':').next().unwrap_or_default().to_owned())
}

/// The side on which copying failed.
enum CopyFault {
    Read(io::Error),
    Write(io::Error),
}

fn copy(from: &mut dyn Read, to: &mut File, hasher: &mut Hasher) -> Result<u64, CopyFault> {
    let (mut buffer, mut bytes) = (vec![0; STEP], 0);
    loop {
        let read = from.read(&mut buffer).map_err(CopyFault::Read)?;
        if read == 0 {
            return Ok(bytes);
        }
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read]).map_err(CopyFault::Write)?;
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_percent_signs_stay_apart() {
        assert_eq!(payload_name("a/%40index"), "a/=2540index");
        assert_eq!(payload_name("a/=2540index"), "a/=3D2540index");
    }
}
