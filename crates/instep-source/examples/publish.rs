//! Publishes a folder once: writes documents that any web server can serve beside the files.
//!
//! `cargo run --example publish -- FOLDER BASE_URL`. A second run writes only what changed in between.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::{env, error::Error};

use instep_source::{DumpPolicy, NoMonitor, PublishOptions, publish};

fn main() -> Result<(), Box<dyn Error>> {
    let (Some(folder), Some(base_url)) = (env::args().nth(1), env::args().nth(2)) else {
        return Err("name a folder and its base URL".into());
    };
    let mut options = PublishOptions::new(folder, base_url);
    // A package of all resources, so that a first copy needs few requests.
    options.dumps.policy = DumpPolicy::Always;

    let report = publish(&options, &NoMonitor)?;
    println!("{} created, {} updated, {} deleted", report.created, report.updated, report.deleted);
    for document in report.documents {
        println!("{document}");
    }
    Ok(())
}
