//! Sends alerts to the operator, by webhook and by mail.

use std::{process::Stdio, time::Duration};

use instep_net::{Client, Request};
use resourcesync::Uri;
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, process::Command, time::sleep};

use super::Fleet;
use crate::{Alert, options::FleetOptions};

/// The time between two sendings of alerts: a host that goes down with hundreds of Sources is one message.
const BETWEEN_ALERTS: Duration = Duration::from_secs(2);
/// The time after which alerts that did not arrive are sent again.
const ALERT_AGAIN: Duration = Duration::from_secs(60);
/// Alerts of one message.
const MOST_ALERTS: usize = 200;

impl Fleet {
    /// Sends alerts as they are recorded, simultaneous ones together, each until it is delivered.
    pub(super) async fn send_alerts(&self) {
        loop {
            sleep(BETWEEN_ALERTS).await;
            if let Err(what) = self.send_unsent_alerts().await {
                self.0.monitor.note(&format!("An alert could not be sent: {what}"));
                sleep(ALERT_AGAIN).await;
            }
        }
    }

    async fn send_unsent_alerts(&self) -> Result<(), String> {
        let (me, options) = {
            let state = self.state();
            (state.me(), state.options().clone())
        };
        let taken = self.recorded(move |record| record.take_alerts(me, MOST_ALERTS)).await;
        let (last, alerts) = taken.map_err(|error| error.to_string())?;
        if alerts.is_empty() {
            return Ok(());
        }
        send(&options, &alerts).await?;
        self.recorded(move |record| record.alerts_sent(me, last)).await.map_err(|error| error.to_string())
    }
}

/// Sends alerts by each way that there is.
async fn send(options: &FleetOptions, alerts: &[Alert]) -> Result<(), String> {
    if let Some(url) = &options.webhook {
        post(options, url, alerts).await?;
    }
    if let Some(address) = &options.mail {
        mail(address, alerts).await?;
    }
    Ok(())
}

/// Formats alerts, one per line.
fn lines(alerts: &[Alert]) -> String {
    let line = |alert: &Alert| {
        format!("{}: {}: {} ({})\n", alert.source, alert.kind.as_str(), alert.text, alert.url)
    };
    alerts.iter().map(line).collect()
}

fn subject(alerts: &[Alert]) -> String {
    match alerts {
        [alert] => format!("instep: {} is {}", alert.source, alert.kind.as_str()),
        _ => format!("instep: news of {} Sources", alerts.len()),
    }
}

async fn post(options: &FleetOptions, url: &str, alerts: &[Alert]) -> Result<(), String> {
    let http = options.access.http_options(url).map_err(|error| error.to_string())?;
    let client = Client::new(http).map_err(|error| error.to_string())?;
    let uri = Uri::parse(url).map_err(|error| format!("{url}: {error}"))?;
    // Chat services show `text`.
    let body = json!({ "text": format!("{}\n{}", subject(alerts), lines(alerts)), "alerts": alerts });
    let answer = client.send(&Request::post(uri, body.to_string(), "application/json")).await;
    let status = answer.map_err(|error| instep_store::error_chain(&error))?.status;
    if status.is_success() { Ok(()) } else { Err(format!("{url} answered {status}")) }
}

async fn mail(address: &str, alerts: &[Alert]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("sendmail: {error}");
    let mut command = Command::new("sendmail");
    command.arg("-t").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let mut sendmail = command.spawn().map_err(failed)?;
    // A line with a dot alone would end the message, a line break in a name begin a header.
    let body = lines(alerts).replace("\n.", "\n .").replace(|c: char| c.is_control() && c != '\n', " ");
    let message = format!(
        "To: {address}\nSubject: {}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n{body}",
        subject(alerts)
    );
    if let Some(mut input) = sendmail.stdin.take() {
        input.write_all(message.as_bytes()).await.map_err(failed)?;
    }
    match sendmail.wait().await.map_err(failed)? {
        status if status.success() => Ok(()),
        status => Err(format!("sendmail ended with {status}")),
    }
}
