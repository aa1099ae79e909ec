//! Verification of intent (W8, WebSub §5.3), and denials (§5.2): the questions that the hub asks a callback.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use instep_net::{Cidr, Request};
use rand::Rng as _;
use resourcesync::Uri;
use tokio::time::timeout;
use url::Url;

use super::{
    Hub, Key,
    request::{HubMode, SubscriptionRequest},
    verifications::{Admission, IN_ALL, PER_ADDRESS, PER_NETWORK, Targets},
};

/// The number of subscriptions to all topics together. Each takes about 1 KiB of memory.
const MOST_SUBSCRIPTIONS: usize = 20_000;
/// The time that a request waits for the answers to earlier verifications of its network.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(5);

impl Hub {
    /// Returns the networks that a verification of a callback counts for; `None` if its host has no address or one
    /// that is not allowed.
    ///
    /// Addresses are counted, not names: an attacker has any number of names for one victim (C16).
    pub(super) async fn targets(&self, callback: &Uri) -> Option<Targets> {
        let mut targets = Targets::new();
        for address in self.client.addresses(callback).await? {
            let networks = [(32, 128, PER_ADDRESS), (24, 48, PER_NETWORK), (0, 0, IN_ALL)];
            targets.extend(networks.map(|(v4, v6, limit)| (Cidr::around(address, v4, v6), limit)));
        }
        targets.sort_unstable();
        targets.dedup();
        Some(targets).filter(|targets| !targets.is_empty())
    }

    /// Returns `true` if a callback may be asked now. Waits while answers to earlier verifications are on their way.
    pub(super) async fn admits(&self, targets: &Targets) -> bool {
        let admitted = async {
            loop {
                let settled = self.settled.notified();
                let admission = {
                    let mut ledger = self.ledger();
                    let now = ledger.now();
                    ledger.verifications.ask(targets, now)
                };
                match admission {
                    Admission::Now => return true,
                    Admission::Refused => return false,
                    Admission::Later => settled.await,
                }
            }
        };
        timeout(ADMISSION_TIMEOUT, admitted).await.unwrap_or(false)
    }

    /// Carries out a request if the callback confirms it.
    pub(super) async fn follow_up(self: Arc<Self>, asked: SubscriptionRequest, targets: Targets) {
        let Ok(_place) = self.verifying.acquire().await else { return };
        let key = (asked.topic.clone(), asked.callback.clone());
        let is_full = {
            let ledger = self.ledger();
            ledger.book.len() >= MOST_SUBSCRIPTIONS && ledger.book.get(&key).is_none()
        };
        let confirmed = if is_full && asked.mode == HubMode::Subscribe {
            self.deny(&key, "this hub has no room for another subscription").await;
            false
        } else {
            self.confirms(&asked).await
        };
        let mut ledger = self.ledger();
        ledger.verifications.done(&targets, confirmed);
        if confirmed {
            match asked.mode {
                HubMode::Unsubscribe => ledger.book.unsubscribe(&key),
                HubMode::Subscribe => {
                    let lease = i64::try_from(asked.lease.as_micros()).unwrap_or(i64::MAX);
                    let expires = ledger.now().saturating_add(lease);
                    ledger.book.subscribe(key.clone(), asked.secret, expires);
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

    /// Asks the callback for its challenge (§5.3).
    async fn confirms(&self, asked: &SubscriptionRequest) -> bool {
        let challenge = format!("{:032x}", rand::rng().random::<u128>());
        let lease = asked.lease.as_secs().to_string();
        let mut parameters = vec![
            ("hub.mode", asked.mode.as_str()),
            ("hub.topic", &asked.topic),
            ("hub.challenge", &challenge),
        ];
        if asked.mode == HubMode::Subscribe {
            parameters.push(("hub.lease_seconds", &lease));
        }
        let answer = self.call(&asked.callback, &parameters).await;
        answer.is_some_and(|(status, body)| {
            (200..300).contains(&status) && body.trim_ascii() == challenge.as_bytes()
        })
    }

    /// Notifies a callback that it is not served, or no longer (§5.2). The answer does not matter.
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
