//! Reads documents entry by entry, in constant memory: `cargo run -p resourcesync --example read -- FILE...`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::{
    env,
    error::Error,
    fs::File,
    io::{BufRead, BufReader},
    time::Instant,
};

use resourcesync::{DocumentReader, Entry, ReadError, ReadOptions};

fn main() -> Result<(), Box<dyn Error>> {
    for path in env::args().skip(1) {
        let start = Instant::now();
        let file = BufReader::with_capacity(64 << 10, File::open(&path)?);
        let (entries, bytes) = count(file)?;
        println!("{path}: {entries} entries of {bytes} bytes in {:?}", start.elapsed());
    }
    Ok(())
}

/// Returns the number of entries, and the sum of their lengths.
fn count(source: impl BufRead) -> Result<(u64, u64), ReadError> {
    let mut reader = DocumentReader::open(source, ReadOptions::new())?;
    // One value is used again for each entry, so that reading a million entries allocates next to nothing.
    let (mut entry, mut bytes) = (Entry::default(), 0);
    while reader.read_entry(&mut entry)? {
        bytes += entry.metadata.length.unwrap_or_default();
    }
    Ok((reader.entries_read(), bytes))
}

#[test]
fn the_example_runs() {
    let list = br#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:rs="http://www.openarchives.org/rs/terms/">
      <rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>
      <url><loc>http://example.com/res1</loc><rs:md length="8876"/></url>
      <url><loc>http://example.com/res2</loc><rs:md length="14599"/></url>
    </urlset>"#;
    assert_eq!(count(&list[..]).ok(), Some((2, 23_475)));
}
