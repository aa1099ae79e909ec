//! Whether a subscriber wants what was asked for in its name (W8), and what it hears when it does not get it (WebSub §5.2,
//! §5.3).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use instep_net::Request;
use rand::Rng as _;
use resourcesync::Uri;
use tokio::time::timeout;
use url::Url;

use super::{
    Hub, Key, now,
    request::{Asked, Mode},
    verifications::Admission,
};

/// Subscriptions of all topics together.
const MOST_SUBSCRIPTIONS: usize = 20_000;
/// How long a request waits for the answers of its host to earlier ones.
const PATIENCE: Duration = Duration::from_secs(5);

impl Hub {
    /// Whether a host may be asked now; waits while its answers to earlier questions are on their way.
    pub(super) async fn admits(&self, host: &str) -> bool {
        let admitted = async {
            loop {
                let settled = self.settled.notified();
                let admission = self.ledger().verifications.ask(host, now());
                match admission {
                    Admission::Now => return true,
                    Admission::Refused => return false,
                    Admission::Later => settled.await,
                }
            }
        };
        timeout(PATIENCE, admitted).await.unwrap_or(false)
    }

    /// Does what was asked for, if the callback confirms it.
    pub(super) async fn follow_up(self: Arc<Self>, asked: Asked, host: String) {
        let Ok(_place) = self.places.acquire().await else { return };
        let key = (asked.topic.clone(), asked.callback.clone());
        let is_full = {
            let ledger = self.ledger();
            ledger.book.len() >= MOST_SUBSCRIPTIONS && ledger.book.get(&key).is_none()
        };
        let confirmed = if is_full && asked.mode == Mode::Subscribe {
            self.deny(&key, "this hub has no room for another subscription").await;
            false
        } else {
            self.confirms(&asked).await
        };
        let mut ledger = self.ledger();
        ledger.verifications.done(&host, confirmed);
        if confirmed {
            match asked.mode {
                Mode::Unsubscribe => ledger.book.unsubscribe(&key),
                Mode::Subscribe => {
                    let lease = i64::try_from(asked.lease.as_micros()).unwrap_or(i64::MAX);
                    ledger.book.subscribe(key.clone(), asked.secret, now().saturating_add(lease));
                }
            }
            ledger.keep(&key);
        } else {
            tracing::info!(callback = key.1, "a callback did not confirm");
        }
        drop(ledger);
        self.settled.notify_waiters();
        // A lease may end earlier than all others, and a renewed one may have something due.
        self.wake.notify_one();
    }

    /// Asks the callback.
    async fn confirms(&self, asked: &Asked) -> bool {
        let challenge = format!("{:032x}", rand::rng().random::<u128>());
        let lease = asked.lease.as_secs().to_string();
        let mut parameters = vec![
            ("hub.mode", asked.mode.as_str()),
            ("hub.topic", &asked.topic),
            ("hub.challenge", &challenge),
        ];
        if asked.mode == Mode::Subscribe {
            parameters.push(("hub.lease_seconds", &lease));
        }
        let answer = self.call(&asked.callback, &parameters).await;
        answer.is_some_and(|(status, body)| {
            (200..300).contains(&status) && body.trim_ascii() == challenge.as_bytes()
        })
    }

    /// Tells a callback that it is not served, or no longer (§5.2). Whether it hears that is its own affair.
    pub(super) async fn deny(&self, (topic, callback): &Key, reason: &str) {
        let parameters = [("hub.mode", "denied"), ("hub.topic", topic.as_str()), ("hub.reason", reason)];
        self.call(callback, &parameters).await;
    }

    async fn call(&self, callback: &str, parameters: &[(&str, &str)]) -> Option<(u16, Bytes)> {
        let mut url = Url::parse(callback).ok()?;
        url.query_pairs_mut().extend_pairs(parameters);
        let answer = self.client.send(Request::get(Uri::parse(url.as_str()).ok()?)).await?;
        Some((answer.status, answer.body))
    }
}
