//! Sends alerts to the operator, by webhook and by mail.

use std::{collections::BTreeSet, process::Stdio, time::Duration};

use instep_net::{Client, Origin, Request};
use resourcesync::Uri;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    process::Command,
    time::{sleep, timeout},
};

use super::{Fleet, seconds};
use crate::{Alert, options::FleetOptions};

/// The time between two sendings of alerts: a host that goes down with hundreds of Sources is one message.
const BETWEEN_ALERTS: Duration = Duration::from_secs(2);
/// The time after which alerts that did not arrive are sent again.
const ALERT_AGAIN: Duration = Duration::from_secs(60);
/// The longest wait for `sendmail`. It queues a message within a moment, and one that hangs would keep all further alerts
/// back.
const MAIL_TIMEOUT: Duration = Duration::from_secs(60);
/// The most alerts in one message.
const MOST_ALERTS: usize = 200;
/// Seconds for which a process that cannot send alerts leaves them to other workers, which may. After that nobody can.
const LEFT_TO_OTHERS: i64 = 3_600;
/// The most bytes of lines in the text for chat services. Some refuse a message of 4,096 characters, however often it is
/// sent.
const LONGEST_TEXT: usize = 3_000;
/// The most characters of a line in that text.
const LONGEST_LINE: usize = 500;

impl Fleet {
    /// Sends alerts as they are recorded, simultaneous ones together, each until it is delivered.
    pub(super) async fn send_alerts(&self) {
        let mut delivered = Delivered::default();
        loop {
            sleep(BETWEEN_ALERTS).await;
            if let Err(what) = self.send_unsent_alerts(&mut delivered).await {
                self.0.monitor.note(&format!("An alert could not be sent: {what}"));
                sleep(ALERT_AGAIN).await;
            }
        }
    }

    async fn send_unsent_alerts(&self, delivered: &mut Delivered) -> Result<(), String> {
        let (me, options) = {
            let state = self.state();
            (state.me(), state.options().clone())
        };
        let until = taken_until(&options, seconds());
        let taken = self.recorded(move |record| record.take_alerts(me, until, MOST_ALERTS)).await;
        // Without the record it is unknown if there is an alert. The process reports elsewhere that it waits for it.
        let Ok((last, alerts)) = taken else { return Ok(()) };
        if alerts.is_empty() {
            return Ok(());
        }
        delivered.send(&options, &alerts).await?;
        let forgotten = self.recorded(move |record| record.alerts_sent(me, last)).await;
        forgotten.map_err(|error| error.to_string())?;
        delivered.forget(last);
        Ok(())
    }
}

/// Returns the time up to which the alerts are this process's: all of them if it can send them.
fn taken_until(options: &FleetOptions, now: i64) -> i64 {
    match (&options.webhook, &options.mail) {
        (None, None) => now - LEFT_TO_OTHERS,
        _ => i64::MAX,
    }
}

/// The numbers of the alerts that each way has delivered and that are still recorded: if one way fails, the other one is
/// still used, and gets nothing twice.
#[derive(Default)]
struct Delivered {
    webhook: BTreeSet<i64>,
    mail: BTreeSet<i64>,
}

impl Delivered {
    /// Sends alerts by each way that there is and that has not delivered them yet.
    async fn send(&mut self, options: &FleetOptions, alerts: &[(i64, Alert)]) -> Result<(), String> {
        let mut failures = Vec::new();
        let unsent = without(&self.webhook, alerts);
        if let Some(url) = options.webhook.as_ref().filter(|_| !unsent.is_empty()) {
            match post(options, url, &unsent).await {
                Ok(()) => self.webhook.extend(alerts.iter().map(|(number, _)| number)),
                Err(what) => failures.push(without_path(&what, url)),
            }
        }
        let unsent = without(&self.mail, alerts);
        if let Some(address) = options.mail.as_ref().filter(|_| !unsent.is_empty()) {
            match mail(address, &unsent).await {
                Ok(()) => self.mail.extend(alerts.iter().map(|(number, _)| number)),
                Err(what) => failures.push(what),
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
    }

    /// Forgets alerts up to a number, which are no longer recorded.
    fn forget(&mut self, last: i64) {
        for way in [&mut self.webhook, &mut self.mail] {
            way.retain(|number| *number > last);
        }
    }
}

fn without<'a>(delivered: &BTreeSet<i64>, alerts: &'a [(i64, Alert)]) -> Vec<&'a Alert> {
    alerts.iter().filter(|(number, _)| !delivered.contains(number)).map(|(_, alert)| alert).collect()
}

/// Formats an alert as a line. Its text has words of the Source, in which a line break would begin the alert of another
/// one.
fn line(alert: &Alert) -> String {
    let text = alert.text.replace(char::is_control, " ");
    format!("{}: {}: {text} ({})", alert.source, alert.kind.as_str(), alert.url)
}

/// Formats alerts, one per line.
fn lines(alerts: &[&Alert]) -> String {
    alerts.iter().map(|alert| line(alert) + "\n").collect()
}

/// Formats alerts for chat services: as many as fit, and the number of the others.
fn chat_text(alerts: &[&Alert]) -> String {
    let mut text = format!("{}\n", subject(alerts));
    let mut left = LONGEST_TEXT;
    for (place, alert) in alerts.iter().enumerate() {
        let line: String = line(alert).chars().take(LONGEST_LINE).chain(['\n']).collect();
        let Some(rest) = left.checked_sub(line.len()) else {
            text.push_str(&format!("and {} more\n", alerts.len() - place));
            break;
        };
        left = rest;
        text.push_str(&line);
    }
    text
}

fn subject(alerts: &[&Alert]) -> String {
    match alerts {
        [alert] => format!("instep: {} is {}", alert.source, alert.kind.as_str()),
        _ => format!("instep: news of {} Sources", alerts.len()),
    }
}

async fn post(options: &FleetOptions, url: &str, alerts: &[&Alert]) -> Result<(), String> {
    let http = options.access.http_options(url).map_err(|error| error.to_string())?;
    let client = Client::new(http).map_err(|error| error.to_string())?;
    let uri = Uri::parse(url).map_err(|error| format!("{url}: {error}"))?;
    // Chat services show `text`.
    let body = json!({ "text": chat_text(alerts), "alerts": alerts });
    let answer = client.send(&Request::post(uri, body.to_string(), "application/json")).await;
    let status = answer.map_err(|error| instep_store::error_chain(&error))?.status;
    if status.is_success() { Ok(()) } else { Err(format!("{url} answered {status}")) }
}

/// Shortens the URL of the webhook in a message to its origin: for chat services the rest of it is the secret by which they know
/// the sender.
fn without_path(what: &str, url: &str) -> String {
    let place = Origin::parse(url).map_or_else(|_| "the webhook".to_owned(), |origin| origin.to_string());
    what.replace(url, &place)
}

async fn mail(address: &str, alerts: &[&Alert]) -> Result<(), String> {
    // For `sendmail` a line with only a dot ends the message, and a line break in a name would begin a header.
    let body = lines(alerts).replace("\n.", "\n .").replace(|c: char| c.is_control() && c != '\n', " ");
    let message = format!(
        "To: {address}\nSubject: {}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n{body}",
        subject(alerts)
    );
    let mut sendmail = Command::new("sendmail");
    sendmail.arg("-t");
    pass_to(sendmail, &message, MAIL_TIMEOUT).await
}

/// Passes a message to `sendmail`, and ends it if it takes too long.
async fn pass_to(mut sendmail: Command, message: &str, most: Duration) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("sendmail: {error}");
    sendmail.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let sent = async {
        let mut running = sendmail.spawn().map_err(failed)?;
        if let Some(mut input) = running.stdin.take() {
            input.write_all(message.as_bytes()).await.map_err(failed)?;
        }
        match running.wait().await.map_err(failed)? {
            status if status.success() => Ok(()),
            status => Err(format!("sendmail ended with {status}")),
        }
    };
    let in_time = timeout(most, sent).await;
    in_time.unwrap_or_else(|_| Err(format!("sendmail has not ended after {} s", most.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlertKind;

    #[tokio::test]
    async fn o449_a_sendmail_that_hangs_keeps_no_other_alert_back() {
        let mut hangs = Command::new("sleep");
        hangs.arg("600");
        let passed = timeout(Duration::from_secs(30), pass_to(hangs, "To: ada", Duration::from_millis(50)));
        assert!(passed.await.unwrap().unwrap_err().contains("has not ended"));
        let mut fails = Command::new("sh");
        fails.args(["-c", "cat; exit 75"]);
        let failed = pass_to(fails, "To: ada", Duration::from_secs(30)).await.unwrap_err();
        assert!(failed.contains("ended with") && failed.contains("75"), "{failed}");
    }

    #[test]
    fn o976_a_failure_of_the_webhook_does_not_show_its_path() {
        let url = "https://hooks.example/services/T1/secret";
        let what = format!("{url} answered 404");
        assert_eq!(without_path(&what, url), "https://hooks.example answered 404");
        assert_eq!(without_path("hooks: not a URL", "hooks"), "the webhook: not a URL");
    }

    fn alert(number: i64, text: &str) -> Alert {
        let (source, url) = ("a".parse().unwrap(), "https://a.example/".to_owned());
        Alert { source, url, kind: AlertKind::Failing, text: text.to_owned(), at: number }
    }

    #[test]
    fn o715_a_worker_that_cannot_send_alerts_leaves_them_to_the_others() {
        let mut options = FleetOptions::new("fleet");
        assert_eq!(taken_until(&options, 10_000), 10_000 - LEFT_TO_OTHERS);
        options.mail = Some("ada@a.example".to_owned());
        assert_eq!(taken_until(&options, 10_000), i64::MAX);
    }

    #[test]
    fn o716_a_text_for_chat_services_is_never_longer_than_they_take() {
        let alerts: Vec<_> = (0..200).map(|number| alert(number, &"x".repeat(20_000))).collect();
        let all: Vec<_> = alerts.iter().collect();
        let text = chat_text(&all);
        assert!(text.chars().count() < 4_096 && text.starts_with("instep: news of 200 Sources\n"), "{text}");
        assert!(text.ends_with("\nand 195 more\n"), "{text}");
        let short = [alert(1, "timeout"), alert(2, "404")];
        let text = chat_text(&short.iter().collect::<Vec<_>>());
        assert_eq!(text, format!("instep: news of 2 Sources\n{}", lines(&short.iter().collect::<Vec<_>>())));
    }

    #[test]
    fn o874_words_of_a_source_are_no_alert_about_another_one() {
        let alerts =
            [alert(1, "it answers 404\nb: recovered: In step (https://b.example/)"), alert(2, "404")];
        let alerts: Vec<_> = alerts.iter().collect();
        assert_eq!(lines(&alerts).lines().count(), 2, "{}", lines(&alerts));
        assert_eq!(chat_text(&alerts).lines().count(), 3, "{}", chat_text(&alerts));
    }

    #[test]
    fn o180_a_way_gets_what_it_has_not_delivered_also_if_that_has_a_smaller_number() {
        let alert = |number: i64| (number, alert(number, &number.to_string()));
        let mut delivered = Delivered { webhook: [2, 4].into(), mail: BTreeSet::new() };
        let alerts = [alert(1), alert(2), alert(4)];
        let texts =
            |unsent: Vec<&Alert>| unsent.into_iter().map(|alert| alert.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(without(&delivered.webhook, &alerts)), ["1"]);
        assert_eq!(texts(without(&delivered.mail, &alerts)).len(), 3);
        delivered.forget(2);
        assert_eq!(delivered.webhook, [4].into());
    }
}
