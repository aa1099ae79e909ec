//! Requests of subscribers to a standby server. It passes them to the publishing server, which verifies the callback
//! and delivers messages. Subscribers can use any server.

use std::{collections::BTreeSet, sync::Arc, thread, time::Duration};

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use futures_util::future::join_all;
use http::StatusCode;
use tokio::task::spawn_blocking;

use super::{
    Hub,
    answering::{read_request, refused},
    request::SubscriptionRequest,
};
use crate::catalogue::{Catalogue, HubRows, SharedRows};

/// The longest time between two searches for requests.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The hub on a standby server.
#[derive(Clone, Debug)]
pub(crate) struct LeftRequests {
    catalogue: Catalogue,
    topics: Arc<BTreeSet<String>>,
}

impl LeftRequests {
    /// Takes requests for some topics.
    pub(crate) fn new(catalogue: &Catalogue, topics: impl IntoIterator<Item = String>) -> Self {
        Self { catalogue: catalogue.clone(), topics: Arc::new(topics.into_iter().collect()) }
    }
}

/// Answers a request to the hub on a standby server.
pub(crate) async fn leave(State(left): State<LeftRequests>, request: Request) -> Response {
    let (form, asked) = match read_request(request).await {
        Ok(read) => read,
        Err((status, what)) => return refused(status, what),
    };
    if !left.topics.contains(&asked.topic) {
        return refused(StatusCode::NOT_FOUND, "there is no such topic");
    }
    let catalogue = left.catalogue;
    let leaving = spawn_blocking(move || {
        let is_left = catalogue.subscribers().map(|rows| rows.leave_request(&form)).transpose();
        if let Some(shared) = catalogue.shared() {
            shared.wake();
        }
        is_left
    });
    match leaving.await {
        Ok(Ok(Some(true))) => StatusCode::ACCEPTED.into_response(),
        _ => refused(StatusCode::SERVICE_UNAVAILABLE, "the hub cannot take requests now"),
    }
}

impl Hub {
    /// Carries out the requests that other servers pass on, until the task is ended. If this server is killed
    /// meanwhile, its successor carries them out.
    pub(crate) async fn take_requests(self: Arc<Self>, catalogue: Catalogue) {
        loop {
            let reader = catalogue.clone();
            let waiting = spawn_blocking(move || {
                if reader.shared().is_none_or(|shared| shared.wait(LOOK_EVERY).is_err()) {
                    thread::sleep(LOOK_EVERY);
                }
                reader.subscribers().and_then(|rows| rows.requests().ok()).unwrap_or_default()
            });
            let Ok(waiting) = waiting.await else { return };
            if waiting.is_empty() {
                continue;
            }
            let numbers: Vec<u64> = waiting.iter().map(|(number, _)| *number).collect();
            join_all(waiting.into_iter().map(|(_, form)| Arc::clone(&self).carry_out(form))).await;
            let done = catalogue.clone();
            let written =
                spawn_blocking(move || done.share(SharedRows::Hub(HubRows::RequestsDone(numbers)))).await;
            if !matches!(written, Ok(Ok(()))) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }

    async fn carry_out(self: Arc<Self>, form: Vec<u8>) {
        let Ok(asked) = SubscriptionRequest::parse(&form) else { return };
        if let Ok(targets) = self.admit(&asked).await {
            self.follow_up(asked, targets).await;
        }
    }
}
