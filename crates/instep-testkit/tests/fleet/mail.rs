//! Alerts by mail, through a `sendmail` that passes them to a server.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use instep_testkit::peers;
use serde_json::Value;

use crate::support::{FleetFolder, Running};

/// A server that accepts mail, and the folder of the `sendmail` that passes it on.
struct MailServer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    port: String,
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mail").join(name)
}

impl MailServer {
    fn start(python: &Path) -> Self {
        let mut child = Command::new(python).arg(script("smtp.py")).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap();
        Self { child, lines, port }
    }

    /// Waits for the next message.
    fn message(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

#[test]
fn alerts_are_mailed_once_and_again_if_sendmail_failed() {
    let Some([python]) = peers::find(["python"]) else { return };
    if peers::file("aiosmtpd/smtp.py").is_none() {
        return;
    }
    let mut server = MailServer::start(&python);
    let fleet = FleetFolder::new();
    let programs = fleet.path("bin");
    fs::create_dir(&programs).unwrap();
    let nobody = format!("http://127.0.0.1:{}/", instep_testkit::free_port().unwrap());
    fleet.ends(&["add", &nobody, "--name", "nobody", "--every", "1h"], 0);
    let sendmail =
        format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", python.display(), script("sendmail.py").display());
    fs::write(programs.join("sendmail"), sendmail).unwrap();
    Command::new("chmod").arg("755").arg(programs.join("sendmail")).status().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let start = |port: Option<&str>| {
        let words =
            ["run", "--retries", "0", "--json", "--alert-mail", "ops@example.org", "--alert-after", "1"];
        let mut command = fleet.command(&words);
        command.env("PATH", &path).envs(port.map(|port| ("SMTP_PORT", port)));
        Running::spawn(&mut command)
    };
    // Without a server sendmail fails, and the alert is not lost.
    let run = start(None);
    fleet.wait_for("nobody", "failing");
    run.signal("-TERM");
    assert_eq!(run.ended(), Some(143));

    let run = start(Some(&server.port));
    let message = server.message();
    assert_eq!(message["to"], serde_json::json!(["ops@example.org"]));
    let text = message["text"].as_str().unwrap();
    let (head, body) = text.split_once("\n\n").unwrap();
    assert!(head.contains("Subject: instep: nobody is failing"), "{text}");
    assert!(head.contains("To: ops@example.org"), "{text}");
    assert!(body.contains("nobody: failing: ") && body.contains(&nobody), "{text}");
    run.signal("-TERM");
    assert_eq!(run.ended(), Some(143));
}

#[test]
fn o180_alerts_go_the_other_way_if_one_fails() {
    let fleet = FleetFolder::new();
    let programs = fleet.path("bin");
    fs::create_dir(&programs).unwrap();
    let mails = fleet.path("mails");
    fs::write(programs.join("sendmail"), format!("#!/bin/sh\nexec cat >> '{}'\n", mails.display())).unwrap();
    Command::new("chmod").arg("755").arg(programs.join("sendmail")).status().unwrap();
    let nobody = format!("http://127.0.0.1:{}/", instep_testkit::free_port().unwrap());
    fleet.ends(&["add", &nobody, "--name", "nobody", "--every", "1h"], 0);
    let mut words = vec!["run", "--retries", "0", "--json", "--alert-after", "1"];
    words.extend(["--alert-webhook", &nobody, "--alert-mail", "ops@example.org"]);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let _run = Running::spawn(fleet.command(&words).env("PATH", &path));
    instep_testkit::wait_until("the mail is sent", || {
        fs::read_to_string(&mails).is_ok_and(|mails| mails.contains("Subject: instep: nobody is failing"))
    });
}
