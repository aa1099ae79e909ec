//! Lists every resource of a Source without making a copy:
//!
//! ```sh
//! cargo run -p instep-destination --example list -- https://example.org/
//! ```

use std::{error::Error, pin::pin};

use futures_util::StreamExt as _;
use instep_destination::{StreamOptions, resources};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the list is what this program is for")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("Usage: list URL")?;
    let mut resources = pin!(resources(url, StreamOptions::new()));
    let (mut count, mut bytes) = (0_u64, 0_u64);
    while let Some(resource) = resources.next().await {
        let resource = resource?;
        println!("{}", resource.loc);
        count += 1;
        bytes += resource.metadata.length.unwrap_or(0);
    }
    println!("{count} resources, {bytes} bytes");
    Ok(())
}
