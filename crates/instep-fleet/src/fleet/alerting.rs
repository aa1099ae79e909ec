//! Sends alerts to the operator, by webhook and by mail.

use std::process::Stdio;

use instep_net::{Client, Request};
use resourcesync::Uri;
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, process::Command};

use crate::{Alert, options::FleetOptions};

/// Sends alerts by each way that there is.
pub(super) async fn send(options: &FleetOptions, alerts: &[Alert]) -> Result<(), String> {
    if let Some(url) = &options.webhook {
        post(options, url, alerts).await?;
    }
    if let Some(address) = &options.mail {
        mail(address, alerts).await?;
    }
    Ok(())
}

/// Says alerts in a line each.
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
    // `text` is what chat services show.
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
