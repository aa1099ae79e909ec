//! Bare loops over a Resource List: counting entries, and building them.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::Result;
use quick_xml::{Reader, events::Event};
use resourcesync::{DateTime, DocumentReader, Entry, ReadOptions};

fn open(file: &Path) -> Result<BufReader<File>> {
    Ok(BufReader::with_capacity(1 << 16, File::open(file)?))
}

/// Tokenizes and counts the `loc` elements.
pub fn count(file: &Path) -> Result<u64> {
    let mut reader = Reader::from_reader(open(file)?);
    let (mut buffer, mut locs) = (Vec::new(), 0);
    loop {
        match reader.read_event_into(&mut buffer)? {
            Event::Start(start) if start.local_name().as_ref() == "loc" => locs += 1,
            Event::Eof => return Ok(locs),
            _ => {}
        }
        buffer.clear();
    }
}

/// Builds a typed entry for each `url` and drops it; nothing is checked.
pub fn fold(file: &Path) -> Result<u64> {
    let mut reader = Reader::from_reader(open(file)?);
    let (mut buffer, mut entry, mut text, mut total) = (Vec::new(), Bare::default(), String::new(), 0);
    loop {
        match reader.read_event_into(&mut buffer)? {
            Event::Start(_) => text.clear(),
            Event::Text(part) => text.push_str(&part),
            Event::GeneralRef(reference) => {
                text.push_str(quick_xml::escape::resolve_predefined_entity(&reference).unwrap_or_default());
            }
            Event::Empty(element) if element.local_name().as_ref() == "md" => {
                for attribute in element.attributes() {
                    let attribute = attribute?;
                    entry.set(attribute.key.local_name().as_ref(), &attribute.value)?;
                }
            }
            Event::End(end) => match end.local_name().as_ref() {
                "loc" => entry.loc = std::mem::take(&mut text),
                "lastmod" => entry.lastmod = DateTime::parse(&text).ok(),
                "url" => total += std::mem::take(&mut entry).weight(),
                _ => {}
            },
            Event::Eof => return Ok(total),
            _ => {}
        }
        buffer.clear();
    }
}

/// An entry as `fold` builds it.
#[derive(Default)]
struct Bare {
    loc: String,
    lastmod: Option<DateTime>,
    md5: [u8; 16],
    sha256: [u8; 32],
    length: u64,
    media_type: String,
}

impl Bare {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "length" => self.length = value.parse()?,
            "type" => value.clone_into(&mut self.media_type),
            "hash" => {
                for item in value.split(' ') {
                    match item.split_once(':') {
                        Some(("md5", hex)) => decode(hex, &mut self.md5),
                        Some(("sha-256", hex)) => decode(hex, &mut self.sha256),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns a number that depends on every field, so that the compiler can leave none out.
    fn weight(self) -> u64 {
        let text = self.loc.len() + self.media_type.len() + usize::from(self.lastmod.is_some());
        self.length + text as u64 + u64::from(self.md5[15]) + u64::from(self.sha256[31])
    }
}

fn decode(hex: &str, bytes: &mut [u8]) {
    let nibble =
        |digit: u8| if digit <= b'9' { digit.wrapping_sub(b'0') } else { digit.wrapping_sub(b'a' - 10) };
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = nibble(pair[0]) << 4 | nibble(pair[1]);
    }
}

/// Reads with the library itself, as the Destination does: into one entry that is used again.
pub fn typed(file: &Path) -> Result<u64> {
    let mut reader = DocumentReader::new(open(file)?, ReadOptions::new())?;
    let (mut entry, mut total) = (Entry::default(), 0);
    while reader.read_entry(&mut entry)? {
        total += entry.metadata.length.unwrap_or_default();
    }
    Ok(total)
}
