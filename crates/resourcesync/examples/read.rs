//! Reads documents to typed entries: `cargo run -p resourcesync --example read FILE...`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::{env, fs::File, io::BufReader, time::Instant};

use resourcesync::{DocumentReader, Entry, ReadOptions};

fn main() -> Result<(), resourcesync::ReadError> {
    for path in env::args().skip(1) {
        let start = Instant::now();
        let mut reader =
            DocumentReader::open(BufReader::with_capacity(64 << 10, File::open(&path)?), ReadOptions::new())?;
        let (mut entry, mut bytes) = (Entry::default(), 0);
        while reader.read_entry(&mut entry)? {
            bytes += entry.metadata.length.unwrap_or_default();
        }
        println!("{path}: {} entries of {bytes} bytes in {:?}", reader.entries_read(), start.elapsed());
    }
    Ok(())
}
