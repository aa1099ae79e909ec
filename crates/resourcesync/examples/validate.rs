//! Judges documents: `cargo run -p resourcesync --example validate FILE...`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::{env, fs::File, io::BufReader, time::Instant};

use resourcesync::validate::{ValidateOptions, Validator};

fn main() -> std::io::Result<()> {
    for path in env::args().skip(1) {
        let start = Instant::now();
        let report = Validator::new(ValidateOptions::new())
            .document(BufReader::with_capacity(64 << 10, File::open(&path)?))?;
        println!("{path}: {} entries in {:?}", report.entries, start.elapsed());
        for finding in report.findings {
            println!("  {finding} ({})", finding.clause());
        }
    }
    Ok(())
}
