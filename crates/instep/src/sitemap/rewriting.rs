//! Reads the file of a Sitemap and rewrites it, beside the program that it belongs to.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, fchown},
    path::Path,
};

use anyhow::{Context, bail};

use super::amended::{Addition, amended, is_amended};

/// The most bytes of a Sitemap that was compressed: four times the number that the protocol allows.
const MOST_BYTES: u64 = 200 << 20;

/// The most times that a file is read and amended while another program writes it.
const ATTEMPTS: usize = 3;

/// The inode, the length and the time of modification of a Sitemap, by which it is recognised.
type SitemapStamp = (u64, u64, (i64, i64));

fn stamp(path: &Path) -> io::Result<SitemapStamp> {
    let found = fs::metadata(path)?;
    Ok((found.ino(), found.len(), (found.mtime(), found.mtime_nsec())))
}

/// Returns the text of a Sitemap; `true` if the file is compressed.
///
/// Errors: the file cannot be read, or is too long.
pub(super) fn read(path: &Path) -> anyhow::Result<(Vec<u8>, bool)> {
    let bytes = fs::read(path).with_context(|| format!("Cannot read {}", path.display()))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok((bytes, false));
    }
    let mut text = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(&bytes[..]);
    decoder.take(MOST_BYTES + 1).read_to_end(&mut text).with_context(|| path.display().to_string())?;
    if text.len() as u64 > MOST_BYTES {
        bail!("{} has more than {MOST_BYTES} bytes when it is unpacked", path.display());
    }
    Ok((text, true))
}

/// Adds the elements of a Resource List to a Sitemap that does not have them, or if something has changed. Returns `true`
/// if the file was written.
///
/// Errors: it cannot be read or written, or another program writes it again and again.
pub(super) fn rewrite(path: &Path, addition: &Addition<'_>, has_changed: bool) -> anyhow::Result<bool> {
    for _ in 0..ATTEMPTS {
        let before = stamp(path).with_context(|| format!("Cannot read {}", path.display()))?;
        let (text, is_coded) = read(path)?;
        if is_amended(&text) && !has_changed {
            return Ok(false);
        }
        let text = amended(&text, addition).with_context(|| path.display().to_string())?;
        let replaced = replace(path, before, &text, is_coded);
        if replaced.with_context(|| format!("Cannot write {}", path.display()))? {
            return Ok(true);
        }
    }
    bail!("{} is written by another program all the time; run this after its end", path.display())
}

/// Replaces a file. The new one gets the permissions of the old one and, if this process may set it, the owner, because
/// the program that writes the Sitemap must be able to write it again. A symbolic link stays a link.
///
/// Returns `false` if the file is another than at the time of the stamp, and then it stays.
fn replace(path: &Path, before: SitemapStamp, text: &[u8], is_coded: bool) -> anyhow::Result<bool> {
    let path = &fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    // One name for all drafts of a file, so that those of killed runs do not add up among the files of a web server. The
    // caller takes care that no other run writes it.
    let name = format!(".{}.instep", path.file_name().unwrap_or_default().to_string_lossy());
    match fs::remove_file(folder.join(&name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut file = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempfile_in(folder)?;
    if is_coded {
        let mut encoder = flate2::write::GzEncoder::new(file.as_file_mut(), flate2::Compression::default());
        encoder.write_all(text)?;
        encoder.finish()?;
    } else {
        file.write_all(text)?;
    }
    let former = fs::metadata(path)?;
    let _ = fchown(file.as_file(), Some(former.uid()), Some(former.gid()));
    file.as_file().set_permissions(former.permissions())?;
    file.as_file().sync_all()?;
    if stamp(path)? != before {
        return Ok(false);
    }
    file.persist(path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o613_a_sitemap_that_another_program_has_written_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sitemap.xml");
        fs::write(&file, "old").unwrap();
        let before = stamp(&file).unwrap();
        fs::write(&file, "newer").unwrap();
        assert!(!replace(&file, before, b"old, amended", false).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "newer");
        // As a killed run leaves it.
        fs::write(folder.path().join(".sitemap.xml.instep"), "half").unwrap();
        assert!(replace(&file, stamp(&file).unwrap(), b"newer, amended", false).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "newer, amended");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
