//! Checks documents against the standard: `cargo run -p resourcesync --example validate -- FILE...`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::{
    env,
    fs::File,
    io::{self, BufRead, BufReader},
    time::Instant,
};

use resourcesync::validate::{Report, ValidateOptions, Validator};

fn main() -> io::Result<()> {
    for path in env::args().skip(1) {
        let start = Instant::now();
        let report = judge(BufReader::with_capacity(64 << 10, File::open(&path)?))?;
        println!("{path}: {} entries in {:?}", report.entries, start.elapsed());
        for finding in &report.findings {
            println!("  {finding} ({})", finding.clause());
        }
    }
    Ok(())
}

fn judge(source: impl BufRead) -> io::Result<Report> {
    Validator::new(ValidateOptions::new()).document(source)
}

#[test]
fn the_example_runs() -> io::Result<()> {
    let list = br#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:rs="http://www.openarchives.org/rs/terms/">
      <rs:ln rel="up" href="http://example.com/caps.xml"/>
      <rs:md capability="resourcelist"/>
      <url><loc>http://example.com/res1</loc></url>
    </urlset>"#;
    let report = judge(&list[..])?;
    assert_eq!((report.findings[0].rule, report.findings[0].position.line), ("RL-2", 4));
    Ok(())
}
