//! Bare loops over folders: walking, and hashing.

use std::{fs, path::Path};

use anyhow::{Result, bail};
use md5::Digest as _;

/// Walks a folder and hashes every file on one thread.
pub fn hash(folder: &Path, algorithm: &str) -> Result<u64> {
    let digest: fn(&[u8]) -> u8 = match algorithm {
        "md5" => |bytes| md5::Md5::digest(bytes)[0],
        "sha-256" => |bytes| ring::digest::digest(&ring::digest::SHA256, bytes).as_ref()[0],
        other => bail!("No digest {other}"),
    };
    let mut total = 0;
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry?;
        if entry.file_type().is_file() {
            total += u64::from(digest(&fs::read(entry.path())?));
        }
    }
    Ok(total)
}

/// Reads every folder and the length and time of every file on one thread.
pub fn stat(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { stat(&entry.path())? } else { metadata.len() };
    }
    Ok(total)
}
