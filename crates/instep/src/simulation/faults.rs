//! Faults in the answers of a simulated Source.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, bail};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use tokio_util::sync::CancellationToken;

use super::draw;
use crate::args::values;

// The purposes of numbers that are drawn from the seed.
const ERRORS: u64 = 11;
const TRUNCATIONS: u64 = 12;
const CORRUPTIONS: u64 = 13;

/// The most bytes of an answer that is changed. A larger one becomes an error 500.
const MOST_BYTES: usize = 64 << 20;

/// The faults to apply. The seed and the number of a request decide which fault it meets.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    seed: u64,
    latency: Duration,
    error: Share,
    truncate: Share,
    corrupt: Share,
    /// Every `gap`th closed Change List is missing; 0 for none.
    gap: u64,
    restart: Option<Duration>,
    requests: AtomicU64,
}

/// A part of all requests, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share(u64);

impl Share {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let wrong = || format!("{text:?} is not a percentage; write 5%");
        let percent: f64 = text.strip_suffix('%').with_context(wrong)?.parse().ok().with_context(wrong)?;
        if !(0.0..=100.0).contains(&percent) {
            bail!(wrong());
        }
        Ok(Self((percent * 10_000.0) as u64))
    }

    fn takes(self, drawn: u64) -> bool {
        drawn % 1_000_000 < self.0
    }
}

impl Faults {
    /// The time that a restart takes.
    pub(crate) const AWAY: Duration = Duration::from_secs(1);

    /// Reads faults such as `latency=50ms` and `error=5%`.
    ///
    /// Errors: an unknown fault or a wrong value.
    pub(crate) fn parse(texts: &[String], seed: u64) -> anyhow::Result<Self> {
        let mut faults = Self { seed, ..Self::default() };
        for text in texts {
            let (name, value) =
                text.split_once('=').with_context(|| format!("{text:?} is not FAULT=VALUE"))?;
            match name {
                "latency" => faults.latency = values::duration(value).map_err(anyhow::Error::msg)?,
                "error" => faults.error = Share::parse(value)?,
                "truncate" => faults.truncate = Share::parse(value)?,
                "corrupt" => faults.corrupt = Share::parse(value)?,
                "gap" => faults.gap = value.parse().with_context(|| format!("{value:?} is not a number"))?,
                "restart" => {
                    faults.restart = Some(values::duration(value).map_err(anyhow::Error::msg)?);
                }
                _ => {
                    bail!("{name:?} is not a fault; choose latency, error, truncate, corrupt, gap or restart")
                }
            }
        }
        Ok(faults)
    }

    /// Returns the same routes with the faults applied.
    pub(crate) fn around(self: &Arc<Self>, router: Router) -> Router {
        router.layer(from_fn_with_state(Arc::clone(self), answer))
    }

    /// Waits until the next simulated restart, or until `ended`.
    pub(crate) async fn until_restart(&self, ended: &CancellationToken) {
        match self.restart {
            Some(restart) => {
                tokio::select! {
                    () = tokio::time::sleep(restart) => {}
                    () = ended.cancelled() => {}
                }
            }
            None => ended.cancelled().await,
        }
    }

    /// Returns `true` if closed Change Lists are missing.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gap > 0
    }

    fn meets(&self, share: Share, purpose: u64, number: u64) -> bool {
        share.takes(draw(self.seed, purpose, number))
    }

    /// Returns `true` if a path is that of a missing Change List.
    fn is_gap(&self, path: &str) -> bool {
        let number = path
            .strip_prefix("/resourcesync/changelist-")
            .and_then(|rest| rest.strip_suffix(".xml")?.parse::<u64>().ok());
        self.gap > 0 && number.is_some_and(|number| number.is_multiple_of(self.gap))
    }
}

async fn answer(State(faults): State<Arc<Faults>>, request: Request, next: Next) -> Response {
    let number = faults.requests.fetch_add(1, Ordering::Relaxed);
    let path = request.uri().path().to_owned();
    if !faults.latency.is_zero() {
        tokio::time::sleep(faults.latency).await;
    }
    if faults.meets(faults.error, ERRORS, number) {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response();
    }
    let response = next.run(request).await;
    if faults.is_gap(&path) && response.status().is_success() {
        return unless_closed(response).await;
    }
    let is_document = path.starts_with("/resourcesync/") || path.starts_with("/.well-known/");
    if is_document || !response.status().is_success() {
        return response;
    }
    if faults.meets(faults.corrupt, CORRUPTIONS, number) {
        return with_body(response, corrupted).await;
    }
    if faults.meets(faults.truncate, TRUNCATIONS, number) {
        return with_body(response, truncated).await;
    }
    response
}

/// Returns 404 instead of a closed list. The open list, whose header has no `until` yet, stays.
async fn unless_closed(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MOST_BYTES).await.unwrap_or_default();
    let header = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.ends_with(b"<url>"));
    if header.flat_map(|line| line.windows(6)).any(|word| word == b"until=") {
        StatusCode::NOT_FOUND.into_response()
    } else {
        Response::from_parts(parts, Body::from(bytes))
    }
}

async fn with_body(response: Response, change: fn(Bytes) -> Body) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MOST_BYTES).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    Response::from_parts(parts, change(bytes))
}

fn corrupted(bytes: Bytes) -> Body {
    let mut bytes = Vec::from(bytes);
    if let Some(first) = bytes.first_mut() {
        *first ^= 1;
    }
    Body::from(bytes)
}

/// Returns half of the body, then ends the connection.
fn truncated(bytes: Bytes) -> Body {
    let half = bytes.slice(..bytes.len() / 2);
    Body::from_stream(stream::iter([Ok(half), Err(std::io::Error::other("truncated on request"))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(texts: &[&str]) -> anyhow::Result<Faults> {
        Faults::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), 1)
    }

    #[test]
    fn a_share_of_all_requests_meets_a_fault_the_same_in_each_run() {
        let met = || {
            let faults = faults(&["error=5%"]).unwrap();
            (0..10_000).filter(|number| faults.meets(faults.error, ERRORS, *number)).collect::<Vec<_>>()
        };
        assert_eq!(met(), met());
        assert!((400..600).contains(&met().len()), "{}", met().len());
    }

    #[test]
    fn gaps_are_in_closed_lists_by_number() {
        let faults = faults(&["gap=2"]).unwrap();
        assert!(faults.is_gap("/resourcesync/changelist-000002.xml"));
        assert!(!faults.is_gap("/resourcesync/changelist-000003.xml"));
        assert!(!faults.is_gap("/resourcesync/changelist.xml"));
    }

    #[test]
    fn a_wrong_fault_says_what_to_write() {
        for (text, says) in [("fire=1%", "latency"), ("error=5", "5%"), ("error", "FAULT=VALUE")] {
            let error = format!("{:#}", faults(&[text]).unwrap_err());
            assert!(error.contains(says), "{error}");
        }
    }
}
