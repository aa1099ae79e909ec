//! A Source inside an application of one's own: its documents and resources beside other routes.
//!
//! `cargo run --example mount -- FOLDER`, then `instep sync http://127.0.0.1:3000/ COPY`.

use std::{error::Error, sync::Arc};

use axum::{Router, routing::get};
use instep_source::{
    VoidMonitor,
    serve::{Limits, ServeOptions, Source, run},
};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder")?;
    let mut options = ServeOptions::new(folder);
    options.publish.base_url = "http://127.0.0.1:3000/".to_owned();

    // The documents are complete when this returns, and are kept current from then on.
    let source = Source::start(options, Arc::new(VoidMonitor)).await?;
    let app = Router::new().route("/mine", get(|| async { "my own page" })).merge(source.app().router());

    // Any server can run the router; this one knows how to withstand slow and many clients.
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let interrupted = async {
        // Without the signal it runs until it is killed.
        let _ = tokio::signal::ctrl_c().await;
        source.end_streams();
    };
    run(listener, app, Limits::default(), None, interrupted).await?;
    source.end().await;
    Ok(())
}
