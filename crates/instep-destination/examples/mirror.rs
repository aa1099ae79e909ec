//! Mirrors a Source into a folder, and shows each resource as it is committed:
//!
//! ```sh
//! cargo run -p instep-destination --example mirror -- https://example.org/ copy
//! ```

use std::error::Error;

use instep_destination::{Event, Monitor, SyncOptions, sync};

/// Prints what happens to the copy.
struct Lines;

impl Monitor for Lines {
    #[expect(clippy::print_stdout, reason = "the lines are what this program is for")]
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Committed(item) => println!("{} {}", item.letter, item.uri),
            Event::Problem(problem) => println!("! {}: {}", problem.uri, problem.what),
            _ => {}
        }
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the summary is what this program is for")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(dir)) = (arguments.next(), arguments.next()) else {
        return Err("Usage: mirror URL DIR".into());
    };
    let options = SyncOptions::new(url, dir);
    let report = sync(&options, &Lines).await?;
    println!(
        "{} created, {} updated, {} unchanged, {} failed{}",
        report.created,
        report.updated,
        report.unchanged,
        report.failed,
        if report.is_in_step() { ": in step" } else { "" },
    );
    Ok(())
}
