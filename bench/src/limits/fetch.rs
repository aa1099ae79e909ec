//! The bare loop of copying: requests, digests, renames, and nothing else.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use md5::Digest as _;

/// Requests in flight.
const CONCURRENCY: usize = 64;

/// Fetches every URL with hyper, computes both digests, writes to a temporary file and renames it; no state, nothing
/// durable.
pub fn all(urls: &Path, base: &str, folder: &Path) -> Result<u64> {
    let urls: Vec<String> = fs::read_to_string(urls)?.lines().map(str::to_owned).collect();
    let base = base.to_owned();
    let jobs = Arc::new((urls, AtomicUsize::new(0), base, folder.to_owned()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let workers: Vec<_> = (0..CONCURRENCY)
            .map(|worker| tokio::spawn(work(client.clone(), Arc::clone(&jobs), worker)))
            .collect();
        let mut total = 0;
        for worker in workers {
            total += worker.await??;
        }
        Ok(total)
    })
}

type Jobs = Arc<(Vec<String>, AtomicUsize, String, PathBuf)>;

async fn work(client: Client<HttpConnector, Empty<Bytes>>, jobs: Jobs, worker: usize) -> Result<u64> {
    let (urls, next, base, folder) = &*jobs;
    let staged = folder.join(format!(".staged-{worker}"));
    let mut total = 0;
    while let Some(url) = urls.get(next.fetch_add(1, Ordering::Relaxed)) {
        let response = client.get(url.parse()?).await?;
        ensure!(response.status() == 200, "{url}: {}", response.status());
        let body = response.into_body().collect().await?.to_bytes();
        let (weak, strong) = (md5::Md5::digest(&body), ring::digest::digest(&ring::digest::SHA256, &body));
        total += u64::from(weak[0]) + u64::from(strong.as_ref()[0]);
        fs::write(&staged, &body)?;
        let place = folder.join(url.strip_prefix(base).unwrap_or(url));
        if fs::rename(&staged, &place).is_err() {
            fs::create_dir_all(place.parent().unwrap_or(folder))?;
            fs::rename(&staged, &place)?;
        }
    }
    Ok(total)
}
