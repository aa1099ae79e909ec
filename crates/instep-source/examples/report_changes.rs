//! Reports changes of resources that lie in no folder: those of a database, for which only the application knows when
//! they change. Nothing is scanned.
//!
//! `cargo run --example report_changes -- OUT`, with a folder for the documents.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::{error::Error, path::PathBuf};

use instep_source::{NoMonitor, PublishOptions, Publisher, ReportedChange, ResourceState, SetOptions};
use resourcesync::{Algorithm, Hasher, MediaType, Uri};

const BASE_URL: &str = "https://example.org/records/";

/// Returns the state of a record, as the application serves it.
fn state(record: &[u8]) -> ResourceState {
    let mut hasher = Hasher::new(&[Algorithm::Sha256]);
    hasher.update(record);
    let mut state = ResourceState::new();
    state.length = Some(record.len() as u64);
    state.digests = hasher.finish();
    state.media_type = Some(MediaType::new("application/json"));
    state
}

fn saved(name: &str, record: &[u8]) -> Result<ReportedChange, Box<dyn Error>> {
    Ok(ReportedChange::Add { uri: Uri::parse(&format!("{BASE_URL}{name}"))?, state: state(record) })
}

fn main() -> Result<(), Box<dyn Error>> {
    let out: PathBuf = std::env::args().nth(1).ok_or("name a folder for the documents")?.into();
    let mut options = PublishOptions::new(&out, BASE_URL);
    // Without content there is nothing to look at: the application reports each change.
    options.sets = vec![SetOptions::new()];
    let mut publisher = Publisher::open(options)?;

    // The records at the beginning: the first publication makes them the baseline, in the Resource List.
    publisher
        .record(vec![saved("1", br#"{"title":"one"}"#)?, saved("2", br#"{"title":"two"}"#)?], &NoMonitor)?;
    let report = publisher.publish_recorded(&NoMonitor)?;
    println!("{} resources", report.resources);

    // Later changes: durable when `record` returns, and in the Change List after the next publication.
    let gone = ReportedChange::remove(Uri::parse(&format!("{BASE_URL}2"))?);
    let recorded = publisher.record(vec![saved("1", br#"{"title":"new"}"#)?, gone], &NoMonitor)?;
    println!("{} updated, {} deleted", recorded.updated, recorded.deleted);
    publisher.publish_recorded(&NoMonitor)?;
    Ok(())
}
