//! Mounts a Source in your own application: its documents and resources beside other routes.
//!
//! `cargo run --example mount -- FOLDER 127.0.0.1:3000`, then `instep sync http://127.0.0.1:3000/ COPY`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::{env, error::Error, sync::Arc};

use axum::{Router, routing::get};
use instep_source::{
    NoMonitor,
    serve::{ServeOptions, ServerLimits, Source, run},
};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (Some(folder), Some(address)) = (env::args().nth(1), env::args().nth(2)) else {
        return Err("name a folder and an address".into());
    };
    let listener = TcpListener::bind(address).await?;
    let mut options = ServeOptions::new(folder);
    options.publish.base_url = format!("http://{}/", listener.local_addr()?);
    println!("{}", options.publish.base_url);

    // The documents are complete when this returns, and are kept current from then on.
    let source = Source::start(options, Arc::new(NoMonitor)).await?;
    let app = Router::new().route("/mine", get(|| async { "my own page" })).merge(source.router());

    // Any server can run the router; this one withstands slow and many clients.
    let interrupted = async {
        // Without the signal it runs until it is killed.
        let _ = tokio::signal::ctrl_c().await;
        source.end_streams();
    };
    run(listener, app, ServerLimits::default(), interrupted).await?;
    source.end().await;
    Ok(())
}
