//! Changes of a copy as webhooks, checked as a receiver checks them.

use std::{fs, path::Path, process::Command};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use instep_testkit::{FakeSource, Fault, ReceivedRequest, Run, ended, instep};
use ring::hmac;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const KEY: &[u8; 32] = b"a secret of thirty-two bytes....";

fn sync(source: &FakeSource, receiver: &FakeSource, dir: &Path) -> Run {
    Run::of(&mut command(source, receiver, dir))
}

fn command(source: &FakeSource, receiver: &FakeSource, dir: &Path) -> Command {
    fs::write(dir.join("secret"), format!("whsec_{}\n", STANDARD.encode(KEY))).unwrap();
    let (url, copy, hook) = (source.url(""), dir.join("copy").display().to_string(), receiver.url("hook"));
    let options = ["--webhook", &hook, "--webhook-secret-file", "secret", "--delete", "--retries", "1"];
    let mut command = instep([&["sync", &url, &copy], &options[..]].concat());
    command.current_dir(dir);
    command
}

/// Returns the messages that a receiver got, each with its identifier; their signatures are right.
fn received(receiver: &FakeSource) -> Vec<(String, Value)> {
    let read = |request: &ReceivedRequest| {
        let header = |name: &str| request.header(name).unwrap().to_owned();
        let (id, time) = (header("webhook-id"), header("webhook-timestamp"));
        let signature = header("webhook-signature");
        let signature = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
        let signed = [format!("{id}.{time}.").as_bytes(), &request.body].concat();
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, KEY), &signed, &signature).unwrap();
        (id, serde_json::from_slice(&request.body).unwrap())
    };
    receiver.requests().iter().filter(|request| request.path == "hook").map(read).collect()
}

fn changes(message: &Value) -> Vec<(&str, &str)> {
    let changes = message["data"]["changes"].as_array().unwrap();
    changes
        .iter()
        .map(|change| (change["change"].as_str().unwrap(), change["path"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_message_is_signed_and_repeated_with_its_identifier_until_it_is_taken() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one"), ("b.txt", "two")]);
    let receiver = FakeSource::start();
    receiver.serve("hook", "taken");
    receiver.fail("hook", [Fault::Status(503)]);
    _ = sync(&source, &receiver, dir.path()).with_code(0);
    let messages = received(&receiver);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[0].0, messages[1].0, "the same identifier");
    assert_eq!(changes(&messages[1].1), [("created", "a.txt"), ("created", "b.txt")]);
    assert_eq!(messages[1].1["type"], "copy.changed");

    // A receiver that does not take it costs nothing but time.
    receiver.forget_requests();
    receiver.fail("hook", [Fault::Status(400)]);
    source.put("a.txt", "changed");
    let run = sync(&source, &receiver, dir.path()).with_code(3);
    assert!(run.stderr.contains("could not be delivered"), "{}", run.stderr);
    _ = sync(&source, &receiver, dir.path()).with_code(0);
    let messages = received(&receiver);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[0].0, messages[1].0);
    assert_eq!(changes(&messages[1].1), [("updated", "a.txt")]);
}

#[test]
fn o397_a_receiver_that_wants_no_more_messages_gets_none_and_timeout_and_retries_are_those_of_the_run() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    let receiver = FakeSource::start();
    receiver.fail_always("hook", Fault::Status(410));
    let run = sync(&source, &receiver, dir.path()).with_code(3);
    assert!(run.stderr.contains("wants no more messages"), "{}", run.stderr);
    assert_eq!(receiver.requests_for("hook"), 1);

    // Nothing comes: one attempt and one retry, each as long as the run waits elsewhere.
    receiver.heal();
    receiver.fail_always("hook", Fault::Hold);
    receiver.forget_requests();
    fs::write(dir.path().join("instep.toml"), "[sync]\ntimeout = \"1s\"\n").unwrap();
    let run = sync(&source, &receiver, dir.path()).with_code(3);
    assert!(run.stderr.contains("took longer than 1s"), "{}", run.stderr);
    assert_eq!(receiver.requests_for("hook"), 2);
}

#[test]
fn o193_a_receiver_that_does_not_answer_does_not_keep_a_run_from_ending() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    let receiver = FakeSource::start();
    receiver.fail_always("hook", Fault::Hold);
    let mut run = command(&source, &receiver, dir.path()).args(["--timeout", "1h"]).spawn().unwrap();
    receiver.wait_for("hook", 1);
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    // The attempt would go on for longer than the test may take.
    assert!(ended(&mut run).code().is_some(), "it had to be killed");
    receiver.heal();
    receiver.release();
    receiver.forget_requests();
    receiver.serve("hook", "taken");
    _ = sync(&source, &receiver, dir.path()).with_code(0);
    let messages = received(&receiver);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(changes(&messages[0].1), [("created", "a.txt")]);
}
