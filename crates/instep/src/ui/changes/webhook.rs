//! Sends changes of a copy as webhooks by the Standard Webhooks specification: signed, and again until the receiver has
//! taken them.

use std::{
    fmt, io,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, StatusCode};
use instep_destination::{AccessOptions, CopyChange, Shutdown, now};
use instep_net::{Client, HttpError, HttpOptions, Request};
use resourcesync::Uri;
use ring::hmac;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::{fields::fields, grace::GRACE};

/// The fewest bytes of a secret, by the specification.
const LEAST_SECRET: usize = 24;

/// A receiver of webhooks.
pub(crate) struct Webhook {
    url: Uri,
    key: hmac::Key,
    http: HttpOptions,
    /// `true` if the receiver has answered 410: it wants no more messages.
    has_unsubscribed: AtomicBool,
}

impl Webhook {
    /// Returns the receiver at a URL, which knows the secret too: `whsec_` followed by Base64. Timeout, number of
    /// attempts and certificates are those of the run.
    ///
    /// Errors: the URL or the secret cannot be used.
    pub(crate) fn new(url: &str, secret: &str, run: &AccessOptions) -> anyhow::Result<Self> {
        if url.split_once("://").is_some_and(|(_, rest)| rest.split('/').next().unwrap_or(rest).contains('@'))
        {
            bail!(
                "The URL of the webhook has a login, which would not be sent, but shown with each failure: remove it; the \
                 receiver knows the sender by the signature"
            );
        }
        let key = secret.trim().strip_prefix("whsec_").map(|key| STANDARD.decode(key));
        let Some(Ok(key)) = key else {
            bail!(
                "The secret of the webhook is not whsec_ followed by Base64: write echo whsec_$(openssl rand -base64 32) to the file"
            );
        };
        if key.len() < LEAST_SECRET {
            bail!("The secret of the webhook has {} bytes; at least {LEAST_SECRET} are needed", key.len());
        }
        let mut access = AccessOptions::default();
        (access.timeout, access.retries) = (run.timeout, run.retries);
        access.ca_file.clone_from(&run.ca_file);
        let mut http = access.http_options(url)?;
        // No redirect is followed, because it would send the changes to another server. If a receiver has moved, the
        // operator must name its new address.
        http.redirects = 0;
        let url = Uri::parse(url).with_context(|| format!("{url:?} is not a URL"))?;
        let (key, has_unsubscribed) = (hmac::Key::new(hmac::HMAC_SHA256, &key), AtomicBool::new(false));
        Ok(Self { url, key, http, has_unsubscribed })
    }

    /// Sends changes as one message, and again after transient failures. Blocks.
    ///
    /// Errors: the receiver does not take the message. A later call sends the changes again.
    pub(super) fn send(&self, changes: &[CopyChange], shutdown: &Shutdown) -> io::Result<()> {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(()) };
        if self.has_unsubscribed.load(Relaxed) {
            return Err(self.unsubscribed());
        }
        let changes = Value::Array(changes.iter().map(fields).collect());
        let id = message_id((first.sequence, last.sequence), &changes);
        let message = json!({
            "type": "copy.changed", "timestamp": now().to_string(), "data": { "changes": changes },
        });
        let body = message.to_string().into_bytes();
        thread::scope(|scope| {
            // A separate runtime, because the caller may be a thread of another one.
            let sending = scope.spawn(|| {
                let runtime = Builder::new_current_thread().enable_all().build()?;
                // Attempts with their pauses may take minutes, and a run that should end must not wait for them.
                runtime.block_on(async {
                    tokio::select! {
                        delivered = self.deliver(&id, &body) => delivered,
                        () = after_grace(shutdown) => Err(io::Error::other(format!(
                            "{} did not take the changes before the run was to end",
                            self.url
                        ))),
                    }
                })
            });
            sending.join().unwrap_or_else(|_| Err(io::Error::other("the webhook ended early")))
        })
    }

    async fn deliver(&self, id: &str, body: &[u8]) -> io::Result<()> {
        let client = Client::new(self.http.clone()).map_err(io::Error::other)?;
        let mut attempts = client.attempts();
        loop {
            let error = match client.send_once(&self.request(id, body)?).await {
                Ok(answer) if answer.status.is_success() => return Ok(()),
                Ok(answer) if answer.status == StatusCode::GONE => {
                    self.has_unsubscribed.store(true, Relaxed);
                    return Err(self.unsubscribed());
                }
                Ok(answer) => {
                    let (uri, status) = (self.url.to_string(), answer.status);
                    HttpError::Status { uri, status, retry_after: None }
                }
                Err(error) => error,
            };
            attempts.again(error).await.map_err(io::Error::other)?;
        }
    }

    fn unsubscribed(&self) -> io::Error {
        io::Error::other(format!(
            "{} answers 410 and so wants no more messages: this run sends it none; remove --webhook, or name another receiver",
            self.url
        ))
    }

    /// Returns the request of one attempt. Each has its own time, which is part of the signature.
    fn request(&self, id: &str, body: &[u8]) -> io::Result<Request> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut request = Request::post(self.url.clone(), body.to_vec(), "application/json");
        let signature = self.sign(id, seconds, body);
        for (name, value) in [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signature),
        ] {
            request.headers.insert(name, HeaderValue::from_str(&value).map_err(io::Error::other)?);
        }
        Ok(request)
    }

    fn sign(&self, id: &str, seconds: u64, body: &[u8]) -> String {
        let signed = [format!("{id}.{seconds}.").as_bytes(), body].concat();
        format!("v1,{}", STANDARD.encode(hmac::sign(&self.key, &signed)))
    }
}

/// Returns the identifier of a message. It is the same if the message is sent again, so that the receiver can recognize it,
/// and another one for changes of another copy, or of this copy with a new state: each copy counts its changes from 1.
fn message_id((first, last): (i64, i64), changes: &Value) -> String {
    let digest = blake3::hash(changes.to_string().as_bytes()).to_hex();
    format!("instep-{first}-{last}-{}", &digest[..16])
}

/// Waits until the run was asked to end and the time for a last attempt is over.
async fn after_grace(shutdown: &Shutdown) {
    shutdown.requested().await;
    tokio::time::sleep(GRACE).await;
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_as_the_specification_shows() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let webhook = Webhook::new("http://127.0.0.1/", secret, &AccessOptions::default()).unwrap();
        let signature =
            webhook.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn o902_messages_of_two_copies_with_the_same_numbers_have_different_identifiers() {
        let id = |path: &str| message_id((1, 1), &json!([{ "sequence": 1, "path": path }]));
        assert_eq!(id("a.txt"), id("a.txt"));
        assert_ne!(id("a.txt"), id("b.txt"));
    }

    #[test]
    fn a_secret_that_is_short_or_not_base64_is_refused() {
        for secret in ["", "secret", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64"] {
            let made = Webhook::new("https://example.org/", secret, &AccessOptions::default());
            assert!(made.is_err(), "{secret}");
        }
    }
}
