//! Writing a Resource List: with the library, and by a loop that formats the same lines unchecked.

use std::io::Write as _;

use anyhow::{Result, ensure};
use instep_testkit::generate;
use resourcesync::{Algorithm, DocumentWriter, Entry, WriteOptions};

use crate::data;

/// Entries as the Source has them before it writes.
pub fn entries(count: usize) -> Result<Vec<Entry>> {
    let mut random = generate::seeded(3);
    let entries =
        (0..count).map(|number| data::list_entry(number, &mut random)).collect::<Result<Vec<_>>>()?;
    ensure!(checked(&entries[..1])? == formatted(&entries[..1])?, "the two write unlike lists");
    Ok(entries)
}

/// Writes with the library itself: every rule is checked, and every value can be read back.
pub fn checked(entries: &[Entry]) -> Result<u64> {
    let mut writer = DocumentWriter::new(Vec::new(), &data::list_header()?, WriteOptions::new())?;
    entries.iter().try_for_each(|entry| writer.write_entry(entry))?;
    Ok(writer.finish()?.len() as u64)
}

/// Formats the same bytes; nothing is checked, and only `&` is escaped.
pub fn formatted(entries: &[Entry]) -> Result<u64> {
    let mut text = DocumentWriter::new(Vec::new(), &data::list_header()?, WriteOptions::new())?.finish()?;
    text.truncate(text.len() - "</urlset>\n".len());
    for entry in entries {
        text.extend_from_slice(b"  <url>\n    <loc>");
        for (number, part) in entry.loc.as_str().split('&').enumerate() {
            text.extend_from_slice(if number == 0 { b"" } else { b"&amp;" });
            text.extend_from_slice(part.as_bytes());
        }
        text.extend_from_slice(b"</loc>\n");
        if let Some(lastmod) = entry.lastmod {
            writeln!(text, "    <lastmod>{lastmod}</lastmod>")?;
        }
        text.extend_from_slice(b"    <rs:md hash=\"");
        for (number, digest) in entry.metadata.hash.iter().enumerate() {
            text.extend_from_slice(if number == 0 { b"" } else { b" " });
            text.extend_from_slice(if digest.algorithm == Algorithm::Md5 { b"md5:" } else { b"sha-256:" });
            hex(&mut text, digest.bytes().unwrap_or_default());
        }
        let length = entry.metadata.length.unwrap_or_default();
        let media_type = entry.metadata.media_type.as_ref().map(|media_type| media_type.as_str());
        writeln!(text, "\" length=\"{length}\" type=\"{}\"/>\n  </url>", media_type.unwrap_or_default())?;
    }
    text.extend_from_slice(b"</urlset>\n");
    Ok(text.len() as u64)
}

fn hex(text: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}
