//! Fetches a URL within its own scope and prints its status, length and address after redirects.
//!
//!     cargo run -p instep-net --example get -- https://example.org/

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::error::Error;

use instep_net::{Client, HttpOptions, Request, Scope};
use resourcesync::Uri;

/// Bytes of a body that are read.
const MOST_BYTES: usize = 1 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("Give a URL")?;
    // The operator typed the URL, so its host may have a private address; redirects to other hosts are refused.
    let client = Client::new(HttpOptions::new(Scope::for_source(&url)?))?;
    let mut response = client.send(&Request::get(Uri::parse(&url)?)).await?.successful()?;
    let body = response.body.read_up_to(MOST_BYTES).await?.ok_or("The body is larger than 1 MiB")?;
    println!("{} {} bytes from {}", response.status.as_u16(), body.len(), response.uri);
    Ok(())
}
